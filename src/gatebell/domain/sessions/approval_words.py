"""English words with which people decide, refuse and hesitate, for `approval_parser.py`.

Each is a list of words or phrases, as a regular expression, in lower case and with ' only.
"""

from __future__ import annotations

# Words that announce a decision: `Decision: …`.
LABELS = r"(?:(?:my|our|the|final) ){0,2}(?:decision|verdict|outcome|choice|answer)"

# Words that may be beside a decision, and decide nothing.
BESIDE = (
    r"yes|yep|ok|okay|sure|good|great|fine|perfect|thanks|thank you|thx|noted|recorded|understood"
    r"|go ahead|(?:looks|sounds|all) good(?: to me)?"
    r"|no (?:objections?|concerns?|issues?|problems?)(?: from me| found)?"
)

# Words of a person who looked and is content; only such sentences may precede an approval.
PRAISES = (
    r"good|great|nice|happy|content|fine|right|correct|green|pass(?:es|ed)?|clean|solid|works"
    r"|(?:i|we)(?: have|'ve)?(?: now)? (?:read|checked|reviewed|looked|tested|verified)"
    r"|went through"
)

_IT = (
    r"(?:(?:of )?(?:(?:this|the) (?:changes?|plan|proposal|request|pr|pull request|merge request"
    r"|release|migration|refactoring|deployment|diff|design|schema)|it|this|that|all of (?:it|this)))"
)
# Clear approvals, by a person or an agent.
APPROVES = (
    rf"approved(?: as is)?|(?:i|we)(?: hereby| fully)? approve(?: {_IT})?"
    rf"|(?:i'm|i am|we're|we are) approving {_IT}|{_IT} is(?: hereby)? approved"
)

# Approvals only by a person, and not as the answer to an agent's question.
GOES = r"lgtm|ship it|merge it|yes proceed|(?:let's|let us) proceed"

# Refusals at any place.
REFUSES = r"reject(?:ed|ing|ion)?|den(?:y|ied)|declined?|disapproved?|unapproved|veto(?:ed)?"

# Words about approval; with a negation they refuse.
STEMS = r"approv\w*|proceed\w*|accept\w*|agree\w*"
NEGATES = (
    r"not|no|never|none|nobody|nothing|neither|nor|cannot|\w+n't|without|nope|nah|refuse to"
    r"|(?:do|does|did|is|was|wo|ca|would|should)nt"
)

# Conditions, hedges, questions, "not yet": a message with them decides nothing.
WAITS = (
    r"if|once|unless|until|till|when|whenever|after|before|provided|assuming|pending"
    r"|subject|contingent|condition\w*|as long as|maybe|perhaps|possibly|probably|might|may"
    r"|could|would|should|yet|later|soon|tomorrow|unsure|not sure|whether|either|or|almost"
)

# Problems, jokes, words of others: a message with them approves nothing.
DOUBTS = (
    r"but|however|though|except|only|first|need|needs|must|think|guess|suppose|seems?"
    r"|principle|inclined|sort of|kind of|wait|hold|hmm*|hm|actually|oh|instead|second thought"
    r"|sa(?:y|ys|id|ying)|tells?|told|w(?:rite|rote|ritten)|type|reads|follows|word|according"
    r"|example|template|sample|output|logs?|lines?|quot\w*|copy|ignore|forced|pretend"
    r"|broken?|fail\w*|concern\w*|problem\w*|issues?|wrong|bugs?|errors?|risk\w*|outage|hate"
    r"|stop|fix|worr\w*|doubt\w*|danger\w*|joke|joking|kidding|lol|lmao|ha(?:ha)+|as if"
    r"|yeah right|take that|back|forget|scratch|cancel\w*|delete\w*"
)

# Words that may come before the name of a chosen option.
CHOOSES = (
    r"(?:no )?(?:let's go with|let's take|let's use|i(?:'ll| will)? (?:choose|take|pick"
    r"|want)|i'd choose|go with|we(?:'ll| will)? (?:choose|take)|take|use)|no|yes|ok|okay"
)

# A sentence without these may be in another language, whose words of doubt are unknown here.
COMMON = r"the|this|that|it|we|you|they|these|are|and|with|have|i've|i'm|all|both|looks|work"
