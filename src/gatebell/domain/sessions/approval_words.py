"""Words with which people decide, refuse and hesitate, by language; `domain/sessions/approval_parser.py` reads them."""

from __future__ import annotations

from typing import NamedTuple


class Tongue(NamedTuple):
    """Each a list of words or phrases, as a regular expression, in small letters and with ' only."""

    labels: str
    """What announces a decision: `Decision: …`."""
    beside: str
    """What may stand beside a decision, and decides nothing."""
    praises: str
    """What tells that somebody has looked and is content; no other sentence may go before."""
    approves: str
    """What plainly is an approval, whoever says it."""
    goes: str
    """What is an approval if a person says it, and not to a question of the agent's."""
    refuses: str
    """What is a refusal wherever it stands."""
    stems: str
    """Words that are about approving; with a negation they refuse."""
    negates: str
    waits: str
    """Conditions, hedges, questions, not yet: nothing beside them is decided."""
    doubts: str
    """Trouble, jokes, somebody else's words: nothing beside them is approved."""
    chooses: str = ""
    """What may stand before the name of a chosen option."""
    joins: str = ""
    """What stands between two options."""


_IT = (
    r"(?:(?:of )?(?:(?:this|the) (?:changes?|plan|proposal|request|pr|pull request|merge request"
    r"|release|migration|refactoring|deployment|diff|design|schema)|it|this|that|all of (?:it|this)))"
)

# Of every language: doubts are looked for in all of them, so one that is written without its
# accents, or means something else elsewhere, costs a proposal and never makes one.
TONGUES = {
    "en": Tongue(
        labels=r"(?:(?:my|our|the|final) ){0,2}(?:decision|verdict|outcome|choice|answer)",
        beside=r"yes|yep|ok|okay|sure|good|great|fine|perfect|thanks|thank you|thx|noted|recorded|understood|go ahead"
        r"|(?:looks|sounds|all) good(?: to me)?"
        r"|no (?:objections?|concerns?|issues?|problems?)(?: from me| found)?",
        praises=r"good|great|nice|happy|content|fine|right|correct|green|pass(?:es|ed)?|clean|solid|works"
        r"|(?:i|we)(?: have|'ve)?(?: now)? (?:read|checked|reviewed|looked|tested|verified)"
        r"|went through",
        approves=rf"approved(?: as is)?|(?:i|we)(?: hereby| fully)? approve(?: {_IT})?"
        rf"|(?:i'm|i am|we're|we are) approving {_IT}|{_IT} is(?: hereby)? approved",
        goes=r"lgtm|ship it|merge it|yes proceed|(?:let's|let us) proceed",
        refuses=r"reject(?:ed|ing|ion)?|den(?:y|ied)|declined?|disapproved?|unapproved|veto(?:ed)?",
        stems=r"approv\w*|proceed\w*|accept\w*|agree\w*",
        negates=r"not|no|never|none|nobody|nothing|neither|nor|cannot|\w+n't|without|nope|nah|refuse to"
        r"|(?:do|does|did|is|was|wo|ca|would|should)nt",
        waits=r"if|once|unless|until|till|when|whenever|after|before|provided|assuming|pending"
        r"|subject|contingent|condition\w*|as long as|maybe|perhaps|possibly|probably|might|may"
        r"|could|would|should|yet|later|soon|tomorrow|unsure|not sure|whether|either|or|almost",
        doubts=r"but|however|though|except|only|first|need|needs|must|think|guess|suppose|seems?"
        r"|principle|inclined|sort of|kind of|wait|hold|hmm*|hm|actually|oh|instead|second thought"
        r"|sa(?:y|ys|id|ying)|tells?|told|w(?:rite|rote|ritten)|type|reads|follows|word|according"
        r"|example|template|sample|output|logs?|lines?|quot\w*|copy|ignore|forced|pretend"
        r"|broken?|fail\w*|concern\w*|problem\w*|issues?|wrong|bugs?|errors?|risk\w*|outage|hate"
        r"|stop|fix|worr\w*|doubt\w*|danger\w*|joke|joking|kidding|lol|lmao|ha(?:ha)+|as if"
        r"|yeah right|take that|back|forget|scratch|cancel\w*|delete\w*",
        chooses=r"(?:no )?(?:let's go with|let's take|let's use|i(?:'ll| will)? (?:choose|take|pick"
        r"|want)|i'd choose|go with|we(?:'ll| will)? (?:choose|take)|take|use)|no|yes|ok|okay",
        joins=r"and|&",
    ),
    "de": Tongue(
        labels=r"(?:(?:meine|unsere|die) )?(?:entscheidung|wahl|antwort)",
        beside=r"ja|gut|sehr gut|prima|danke|in ordnung|passt|alles klar|keine einwände",
        praises=r"gut|prima|grün|passt|geprüft|gelesen|angesehen|zufrieden|richtig",
        approves=r"genehmigt|freigegeben|bewilligt|einverstanden|zugestimmt|ich stimme(?: dem)? zu"
        r"|ich (?:genehmige|bewillige)(?: (?:das|es|dies|die änderung|den plan))?"
        r"|(?:das|es) ist (?:genehmigt|freigegeben)|ich bin einverstanden"
        r"|ich gebe (?:das|es|die änderung) frei",
        goes="",
        refuses=r"abgelehnt|ablehnung|ich lehne \w*(?: \w+)? ?ab|zurückgewiesen|verweigert"
        r"|ungenehmigt",
        stems=r"genehmig\w*|freigegeben|freigabe|bewillig\w*|einverstanden|stimme|zugestimmt",
        negates=r"nicht|nein|kein\w*|nie|niemals|niemand|nirgends|nichts|ohne|weder|keineswegs",
        waits=r"wenn|falls|sobald|sofern|bis|bevor|nachdem|nach|unter der bedingung|bedingung"
        r"|vorbehaltlich|vielleicht|eventuell|wahrscheinlich|würden?|könnten?|sollten?|noch|später"
        r"|oder|vorausgesetzt|ob|soll",
        doubts=r"aber|erst|zuerst|nur|muss|müssen|prinzip|warten?|moment|doch|sagte?|meinte?|laut"
        r"|schrieb|ausgabe|beispiel|vorlage|kaputt|fehler\w*|schlagen|scheiter\w*|bedenken|zweifel"
        r"|problem\w*|falsch|scherz|witz|haha|na klar|zurück|denke|glaube|scheint",
        chooses=r"ich (?:nehme|wähle)|wir nehmen|nehmen wir|nimm|nein|ja",
        joins=r"und",
    ),
    "fr": Tongue(
        labels=r"(?:(?:ma|notre|la) )?(?:décision|choix|réponse)",
        beside=r"oui|c'est bon|merci|parfait|très bien|bien|ça marche|aucune objection",
        praises=r"bon|bien|verts?|lu|relu|vérifié|parfait|content",
        approves=r"approuvée?|validée?|j'approuve(?: (?:ça|cela|ce changement|le plan))?"
        r"|je valide(?: (?:ça|cela|ce changement))?|c'est (?:approuvé|validé)|je l'approuve"
        r"|je suis d'accord",
        goes="d'accord",
        refuses=r"rejetée?|refusée?|je (?:le )?(?:rejette|refuse)|désapprouvée?|je désapprouve",
        stems=r"(?:\w+')?approuv\w*|valid\w*|d'accord|accord",
        negates=r"non|ne|n'\w+|pas|jamais|aucun\w*|rien|personne|sans|ni",
        waits=r"si|s'il|quand|lorsque|dès que|avant|après|à condition|condition|sous réserve"
        r"|réserve|pourvu|peut-être|probablement|encore|plus tard|ou|sauf|est-ce|\w+erais",
        doubts=r"mais|d'abord|seulement|faut|doit|principe|crois|pense|semble|attends?|attendez"
        r"|en fait|dit|disait|selon|écrit|sortie|exemple|modèle|cassé\w*|échou\w*|erreurs?|doutes?"
        r"|problèmes?|faux|rigole|blague|mdr|bien sûr|retire",
        chooses=r"je (?:choisis|prends)|prenons|on prend|non|oui",
        joins=r"et",
    ),
    "es": Tongue(
        labels=r"(?:(?:mi|nuestra|la) )?(?:decisión|elección|respuesta)",
        beside=r"sí|está bien|todo bien|gracias|perfecto|muy bien|bien|vale|sin objeciones",
        praises=r"bien|bueno|verdes?|leído|revisado|perfecto|correcto",
        approves=r"aprobad[oa]|(?:yo )?(?:lo )?apruebo(?: (?:esto|eso|el cambio|el plan))?"
        r"|está aprobado|estoy de acuerdo",
        goes="de acuerdo",
        refuses=r"rechazad[oa]|(?:lo )?rechazo|denegad[oa]|desaprobad[oa]|desapruebo",
        stems=r"aprob\w*|aprueb\w*|acuerdo",
        negates=r"no|nunca|jamás|nadie|nada|ningun\w*|tampoco|sin|ni",
        waits=r"si|cuando|siempre que|siempre|después|antes|condición|quizás?|tal vez"
        r"|probablemente|todavía|aún|luego|o|salvo|\w+aría|hasta",
        doubts=r"pero|primero|sólo|solo|debe\w*|principio|creo|parece|espera\w*|dijo|dice|según"
        r"|escribió|salida|ejemplo|plantilla|rot[oa]s?|falla\w*|error\w*|dudas?|problemas?|mal"
        r"|broma|jaja\w*|claro|retiro",
        chooses=r"(?:yo )?(?:elijo|escojo|prefiero)|vamos con|tomo|no|sí",
        joins=r"y",
    ),
    "it": Tongue(
        labels=r"(?:(?:la mia|la nostra|la) )?(?:decisione|scelta|risposta)",
        beside=r"sì|grazie|perfetto|va bene|bene|nessuna obiezione",
        praises=r"bene|buono|verdi|letto|controllato|verificato|perfetto",
        approves=r"approvat[oa]|(?:io )?(?:lo )?approvo(?: (?:questo|la modifica|il piano))?"
        r"|è approvato|sono d'accordo",
        goes="d'accordo",
        refuses=r"respint[oa]|(?:lo )?respingo|rifiutat[oa]|rifiuto|disapprovo|disapprovat[oa]",
        stems=r"approv\w*|d'accordo|accordo",
        negates=r"non|no|mai|nessun\w*|niente|nulla|senza|né",
        waits=r"se|quando|appena|dopo|prima|a patto|patto|condizione|forse|probabilmente|ancora"
        r"|poi|o|oppure|salvo|\w+erei|finché",
        doubts=r"ma|però|solo|deve|massima|principio|credo|penso|sembra|aspetta\w*|detto|dice"
        r"|secondo|scritto|esempio|modello|rott[oa]|fallis\w*|errori?|dubbi\w*|problem\w*|scherzo"
        r"|certo|ripensato",
        chooses=r"(?:io )?(?:scelgo|prendo)|prendiamo|no|sì",
        joins=r"e",
    ),
    "pt": Tongue(
        labels=r"(?:(?:a )?(?:minha|nossa) |a )?(?:decisão|escolha|resposta)",
        beside=r"sim|obrigad[oa]|perfeito|muito bem|bem|tudo bem|sem objeções",
        praises=r"bem|bom|verdes?|lido|revisei|verifiquei|perfeito",
        approves=r"aprovad[oa]|(?:eu )?aprovo(?: (?:isto|isso|a mudança|o plano))?"
        r"|está aprovado|estou de acordo|eu concordo",
        goes="de acordo|concordo",
        refuses=r"rejeitad[oa]|(?:eu )?rejeito|recusad[oa]|recuso|desaprovad[oa]|desaprovo",
        stems=r"aprov\w*|concord\w*|acordo",
        negates=r"não|nunca|jamais|ninguém|nada|nenhum\w*|sem|nem|forma alguma",
        waits=r"se|quando|desde que|depois|antes|condição|talvez|provavelmente|ainda|ou|salvo"
        r"|\w+aria|até",
        doubts=r"mas|primeiro|só|somente|deve|princípio|acho|parece|espera\w*|disse|diz|segundo"
        r"|escreveu|exemplo|modelo|quebrad[oa]|falha\w*|erros?|dúvidas?|problemas?|brincadeira"
        r"|k{3,}|retiro",
        chooses=r"(?:eu )?(?:escolho|prefiro)|vamos com|fico com|não|sim",
        joins=r"e",
    ),
    "ru": Tongue(
        labels=r"(?:(?:мо[её]|наше) )?(?:решение|выбор|ответ)",
        beside=r"да|хорошо|отлично|спасибо|возражений нет",
        praises=r"хорошо|отлично|прочитал\w*|проверил\w*|зел[её]н\w*",
        approves=r"одобрено|утверждено|согласовано|(?:я )?(?:это )?(?:одобряю|утверждаю)(?: это)?"
        r"|я согласен|я согласна",
        goes=r"согласен|согласна",
        refuses=r"отклонено|(?:я )?отклоняю|отказано|отвергнуто|неодобрено|несогласен",
        stems=r"одобр\w*|утвержд\w*|соглас\w*",
        negates=r"не|нет|ни|никогда|никто|никем|ничего|ничуть|без|нельзя",
        waits=r"если|когда|пока|после|до|при условии|услови\w*|возможно|наверное|может|бы|ещё|еще"
        r"|потом|или|ли|кроме|вероятно",
        doubts=r"но|сначала|только|нужно|надо|думаю|кажется|подожди\w*|погоди|сказал\w*|говорит"
        r"|написал\w*|пример|шаблон|слома\w*|ошибк\w*|проблем\w*|сомне\w*|шучу|шутка|ага|конечно"
        r"|принципе|передумал\w*",
        chooses=r"(?:я )?выбираю|бер[её]м|нет|да",
        joins=r"и",
    ),
    "zh": Tongue(
        labels=r"(?:我的)?(?:最终)?(?:决定|決定|选择|選擇|结论)[是为]?",
        beside=r"是的|好的|好|可以|谢谢|没问题|很好",
        praises=r"很好|看过|检查过|通过了",
        approves=r"我?(?:批准|同意|核准)(?:了|这个改动|这个方案|此方案|该方案)?",
        goes="",
        refuses=r"拒绝|拒絕|驳回|否决|不予批准",
        stems=r"批准|同意|核准",
        negates=r"不|没|未|无法|别|勿|非|沒",
        waits=r"如果|要是|假如|只要|等|之后|以后|后|之前|也许|可能|应该|或|除非|还|吗|暂|稍后|再",
        doubts=r"但|先|必须|说|写|据|例|输出|模板|坏|失败|错|问题|担心|疑|哈哈|呵呵|开玩笑|收回|吧",
        chooses=r"我?(?:选择|选|選擇|選|要)|不",
        joins=r"和|与|及|、",
    ),
    "ja": Tongue(
        labels=r"(?:最終)?(?:決定|結論|選択|回答)(?:は)?",
        beside=r"はい|了解です|了解|ありがとうございます|ありがとう|問題ありません|異議なし",
        praises=r"確認しました|読みました|良い|いいです",
        approves=r"(?:私は)?(?:これを)?(?:承認|同意|許可)(?:します|しました|する|です)?",
        goes="",
        refuses=r"却下|拒否|否決|不承認|反対します",
        stems=r"承認|同意|許可",
        negates=r"ません|ない|なく|いいえ|未|不|ぬ|無",
        waits=r"もし|れば|たら|なら|後|前に|場合|まで|たぶん|多分|かも|おそらく|まだ|または|か。|か$"
        r"|と思",
        doubts=r"でも|しかし|ただし|まず|必要|だけ|待って|言|書|によると|例|出力|壊|失敗|エラー|問題"
        r"|心配|冗談|笑|www|が、",
        chooses=r"私は|いいえ",
        joins=r"と|、",
    ),
    "ko": Tongue(
        labels=r"(?:최종 )?(?:결정|선택|답변)(?:은)?",
        beside=r"네|예|좋습니다|좋아요|감사합니다|이의 없습니다",
        praises=r"좋\w*|확인했\w*|검토했\w*",
        approves=r"(?:저는 )?(?:승인|동의|허가)(?:합니다|해요|함|했습니다|됨)?",
        goes="",
        refuses=r"거절\w*|거부\w*|반려\w*|기각\w*|불승인|미승인",
        stems=r"승인\w*|동의\w*|허가\w*",
        negates=r"\w*않\w*|\w*못\w*|안|아니\w*|없\w*|수 없\w*",
        waits=r"만약|\w+면|\w+까요|후에?|전에|아마도?|\w+ 것 같\w*|아직|또는|나중에",
        doubts=r"하지만|그런데|먼저|만|잠깐\w*|말\w*|라고|예를|출력|고장\w*|실패\w*|오류\w*|문제\w*"
        r"|걱정\w*|농담\w*|ㅋ+|ㅎ+",
        chooses=r"저는|아니요",
        joins=r"와|과|및",
    ),
    "nl": Tongue(
        labels=r"(?:(?:mijn|onze|de) )?(?:beslissing|besluit|keuze|antwoord)",
        beside=r"prima|dank je|bedankt|goed",
        praises=r"goed|prima|groen|gelezen|gecontroleerd",
        approves=r"goedgekeurd|ik keur (?:dit|het) goed|akkoord|ik ga akkoord",
        goes="",
        refuses=r"afgewezen|afgekeurd|geweigerd|ik wijs (?:dit|het) af|ongoedgekeurd",
        stems=r"goedgekeurd|akkoord|keur",
        negates=r"niet|nee|nooit|niemand|niets|geen|zonder",
        waits=r"als|zodra|mits|tenzij|wanneer|voordat|nadat|misschien|waarschijnlijk|zou|nog",
        doubts=r"maar|eerst|alleen|moet|wacht|zei|zegt|volgens|kapot|fout\w*|twijfel\w*|grapje",
        joins=r"en",
    ),
    "pl": Tongue(
        labels=r"(?:(?:moja|nasza) )?(?:decyzja|wybór|odpowiedź)",
        beside=r"tak|dobrze|dziękuję|dzięki|świetnie",
        praises=r"dobrze|świetnie|sprawdził\w*|przeczytał\w*",
        approves=r"zatwierdzon[eoay]|zatwierdzam(?: to)?|akceptuję(?: to)?|zgoda|zgadzam się",
        goes="",
        refuses=r"odrzucon[eoay]|odrzucam(?: to)?|odmawiam|niezatwierdzone",
        stems=r"zatwierdz\w*|akceptuj\w*|zgod\w*|zgadzam",
        negates=r"nie|nigdy|nikt|nic|bez|żaden",
        waits=r"jeśli|jeżeli|gdy|kiedy|dopóki|po|przed|warunkiem|może|chyba|jeszcze|lub|albo|czy",
        doubts=r"ale|najpierw|tylko|musi|czekaj|powiedział\w*|według|zepsut\w*|błąd|błęd\w*"
        r"|wątpliw\w*|żart\w*",
        joins=r"i|oraz",
    ),
    "sv": Tongue(
        labels=r"(?:(?:mitt|vårt) )?(?:beslut|val|svar)",
        beside=r"bra|tack|okej",
        praises=r"bra|grönt|läst|granskat",
        approves=r"godkänt|godkänd|jag godkänner(?: det(?:ta)?)?",
        goes="",
        refuses=r"avslaget|avslås|avvisat|avvisad|nekat|nekad|ogodkänt|jag avslår(?: det(?:ta)?)?",
        stems=r"godkän\w*",
        negates=r"inte|nej|aldrig|ingen|inget|utan|ej",
        waits=r"om|när|så snart|innan|efter|kanske|troligen|skulle|eller|ännu",
        doubts=r"först|bara|måste|vänta|sa|säger|enligt|trasig\w*|tvivel|skojar",
        joins=r"och",
    ),
    "tr": Tongue(
        labels=r"(?:benim )?(?:karar\w*|seçim\w*|cevap)",
        beside=r"evet|tamam|teşekkürler|güzel",
        praises=r"güzel|iyi|okudum|inceledim",
        approves=r"onaylıyorum|onaylandı|onayladım|kabul ediyorum",
        goes="",
        refuses=r"reddedildi|reddediyorum|reddettim|onaylamıyorum|onaylanmadı|kabul etmiyorum",
        stems=r"onay|onayı",
        negates=r"değil|hayır|asla|hiç|yok|\w+[ıiuü]yorum değil",
        waits=r"eğer|\w+irse|\w+ırsa|\w+erse|\w+arsa|belki|henüz|sonra|önce|veya|m[ıiuü]",
        doubts=r"ama|fakat|sadece|bekle|dedi|bozuk|hata\w*|şaka\w*|galiba",
        joins=r"ve",
    ),
    "uk": Tongue(
        labels=r"(?:моє )?(?:рішення|вибір)",
        beside=r"так|добре|дякую",
        praises=r"добре|перевіри\w*|прочита\w*",
        approves=r"схвалено|затверджено|(?:я )?(?:схвалюю|затверджую|погоджуюся)",
        goes="",
        refuses=r"відхилено|(?:я )?відхиляю|відмовлено",
        stems=r"схвал\w*|затвердж\w*|погодж\w*",
        negates=r"не|ні|ніколи|ніхто|нічого|без",
        waits=r"якщо|коли|поки|після|перед|можливо|мабуть|може|ще|або|чи|б",
        doubts=r"але|спочатку|тільки|треба|зачекай\w*|сказа\w*|злама\w*|помилк\w*|жарт\w*",
    ),
    "cs": Tongue(
        labels=r"(?:moje )?(?:rozhodnutí|volba)",
        beside=r"ano|dobře|díky|děkuji",
        praises=r"dobře|zkontroloval\w*|přečet\w*",
        approves=r"schváleno|schvaluji(?: to)?|souhlasím",
        goes="",
        refuses=r"zamítnuto|zamítám(?: to)?|odmítám|neschváleno|neschvaluji|nesouhlasím",
        stems=r"schvál\w*|schval\w*|souhlas\w*",
        negates=r"ne|není|nikdy|nikdo|nic|bez",
        waits=r"pokud|jestli|když|až|po|před|možná|asi|ještě|nebo|zda",
        doubts=r"ale|nejdřív|jen|musí|počkej|řekl\w*|podle|rozbit\w*|chyb\w*|žert|vtip",
    ),
    "ar": Tongue(
        labels=r"(?:القرار|قراري|الاختيار)",
        beside=r"نعم|حسنا|شكرا|جيد",
        praises=r"جيد|ممتاز|راجعت",
        approves=r"موافق|موافقة|أوافق|أنا موافق|تمت الموافقة",
        goes="",
        refuses=r"مرفوض|أرفض|رفضت",
        stems=r"موافق\w*|أوافق|الموافقة",
        negates=r"لا|لم|لن|ليس|غير|ما|بدون|أبدا|كلا",
        waits=r"إذا|اذا|إن|لو|عندما|بعد|قبل|بشرط|ربما|قد|أو|هل|حتى",
        doubts=r"لكن|أولا|فقط|يجب|انتظر|قال\w*|حسب|معطل|خطأ|مشكلة|شك|أمزح",
    ),
    "hi": Tongue(
        labels=r"(?:मेरा )?(?:निर्णय|फ़ैसला|फैसला)",
        beside=r"हाँ|हां|ठीक है|धन्यवाद|अच्छा",
        praises=r"अच्छा|ठीक",
        approves=r"स्वीकृत|मंज़ूर|मंजूर|मैं स्वीकृति देता हूँ|मैं स्वीकृति देती हूँ",
        goes="",
        refuses=r"अस्वीकृत|नामंज़ूर|नामंजूर",
        stems=r"स्वीकृत|स्वीकृति|मंज़ूर|मंजूर",
        negates=r"नहीं|न|ना|मत|कभी|बिना",
        waits=r"अगर|यदि|जब|तो|बाद|पहले|शायद|अभी|या|क्या",
        doubts=r"लेकिन|मगर|सिर्फ|रुको|कहा|अनुसार|टूटा|ग़लत|गलत|मज़ाक",
    ),
    "he": Tongue(
        labels=r"(?:ההחלטה|החלטה)",
        beside=r"כן|תודה|טוב|בסדר",
        praises=r"טוב|מצוין|בדקתי",
        approves=r"מאושר|אני מאשר|אני מאשרת|מאשר|מאשרת",
        goes="",
        refuses=r"נדחה|דחוי|אני דוחה|מסרב",
        stems=r"מאושר|מאשר\w*|אישור",
        negates=r"לא|אין|אף|מעולם|בלי|אל",
        waits=r"אם|כאשר|כש\w+|אחרי|לפני|בתנאי|אולי|עדיין|או|האם|עד",
        doubts=r"אבל|קודם|רק|צריך|חכה|אמר\w*|לפי|שבור|שגיאה|בעיה|צוחק",
    ),
}
