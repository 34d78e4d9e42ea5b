"""The formats of secrets, as data for `redaction`.

A row of PREFIXED has the prefixes of a secret, the characters that follow, and the least number of
them. That is about half the real length, so that a secret that was cut is still recognised.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


HEX = "0-9a-fA-F"
ALNUM = "A-Za-z0-9"
WORD = "A-Za-z0-9_-"
DOTTED = "A-Za-z0-9_.=-"
BASE64 = "A-Za-z0-9+/=_-"

PREFIXED: tuple[tuple[str, str, int], ...] = (
    ("ops_eyJ", BASE64, 20),  # 1password service account
    ("aio_", ALNUM, 20),  # adafruit
    ("p8e-", ALNUM, 16),  # adobe client secret
    ("AGE-SECRET-KEY-1", "A-Z0-9", 20),  # age
    ("sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", ALNUM, 10),  # airbyte, assemblyai and other sk_
    ("LTAI", ALNUM, 12),  # alibaba access key
    ("sk-ant-", WORD, 12),  # anthropic
    ("AKCp", ALNUM, 30),  # artifactory api key
    ("cmVmdGtu", ALNUM, 20),  # artifactory reference token
    ("ATATT3 ATCTT3 ATBB", BASE64, 16),  # atlassian api token
    ("ABSK bedrock-api-key-", BASE64, 30),  # aws bedrock
    ("xkeysib- xsmtpsib-", WORD, 20),  # brevo
    ("bkua_ bkat_ bkct_", ALNUM, 16),  # buildkite agent and api
    ("CCIPAT_ CCIPRJ_", WORD, 16),  # circleci
    ("CLOJARS_", ALNUM, 20),  # clojars
    ("v1.0-", "0-9a-f-", 40),  # cloudflare origin ca
    ("CFPAT-", WORD, 20),  # contentful management
    ("cio", ALNUM, 32),  # crates.io
    ("dapi dkea", HEX, 20),  # databricks
    ("dnkey-", WORD, 30),  # defined networking
    ("dop_v1_ doo_v1_ dor_v1_ dosec_", HEX, 20),  # digitalocean
    ("discord.com/api/webhooks/ discordapp.com/api/webhooks/", "A-Za-z0-9_/-", 30),  # discord webhook
    ("dckr_pat_ dckr_oat_", WORD, 12),  # docker hub
    ("dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", DOTTED, 16),  # doppler
    ("duffel_live_ duffel_test_", DOTTED, 16),  # duffel
    ("dt0c01. dt0s01. dt0s16.", DOTTED, 20),  # dynatrace
    ("EZAK EZTK", ALNUM, 30),  # easypost
    ("exp_", ALNUM, 32),  # expo
    ("EAAC EAAM EAAB EAAG", ALNUM, 60),  # facebook
    ("figd_ figo_ figor_", WORD, 16),  # fastly, figma
    ("FLWSECK_TEST- FLWSECK-", WORD, 10),  # flutterwave
    ("fo1_ fm1a_ fm1r_ fm2_", BASE64, 20),  # fly.io
    ("fio-u-", DOTTED, 24),  # frame.io
    ("gate_", "0-9a-f", 24),  # gate token
    ("ghp_ gho_ ghu_ ghs_ ghr_", ALNUM, 16),  # github
    ("github_pat_", "A-Za-z0-9_", 16),  # github fine-grained
    ("glpat- gldt- glft- glsoat- glrt- glrtr- glcbt- glptt- glimt- glagent- gloas- glffct- glwt-", DOTTED, 12),  # gitlab
    ("GR1348941", WORD, 10),  # gitlab runner registration
    ("AIza", WORD, 24),  # google api key
    ("ya29.", DOTTED, 12),  # google oauth access token
    ("1//0", WORD, 24),  # google oauth refresh token
    ("GOCSPX-", WORD, 12),  # google oauth client secret
    ("glc_ glsa_", BASE64, 20),  # grafana
    ("gsk_", ALNUM, 20),  # groq
    ("pat. sat.", DOTTED, 40),  # harness
    ("hvs. hvb. hvr.", WORD, 16),  # hashicorp vault
    ("HRKU-", WORD, 20),  # heroku
    ("pat-na1- pat-eu1- pat-na2-", WORD, 16),  # hubspot
    ("hf_ api_org_", ALNUM, 16),  # huggingface
    ("ico-", ALNUM, 20),  # infracost
    ("dG9rOg", BASE64, 20),  # intercom
    ("eyJ2ZXIiOiIyIiwidHlwIjoiSldUIi", BASE64, 20),  # jfrog identity
    ("lsv2_pt_ lsv2_sk_ ls__", WORD, 16),  # langsmith
    ("sdk- api- mob-", "0-9a-f-", 32),  # launchdarkly
    ("lin_api_ lin_oauth_", ALNUM, 16),  # linear
    ("key-", HEX, 24),  # mailgun
    ("sk.eyJ pk.eyJ tk.eyJ", DOTTED, 20),  # mapbox secret
    ("webhook.office.com/webhookb2/", "A-Za-z0-9/@-", 30),  # microsoft teams webhook
    ("napi_", ALNUM, 24),  # neon
    ("nfp_ nfc_ nfo_ nfu_ nfb_", ALNUM, 16),  # netlify
    ("NRAK- NRII- NRJS- NRBR- NRRA-", WORD, 12),  # new relic
    ("ngrok_", ALNUM, 24),  # ngrok
    ("ntn_ secret_", ALNUM, 30),  # notion
    ("npm_", ALNUM, 20),  # npm
    ("nvapi-", WORD, 20),  # nvidia
    ("API-", "A-Z0-9", 22),  # octopus deploy
    ("sk-proj- sk-svcacct- sk-admin- sk-None- sk-or-v1-", WORD, 12),  # openai
    ("sha256~", WORD, 24),  # openshift
    ("access_token$production$ access_token$sandbox$", "a-z0-9$", 16),  # paypal braintree
    ("pplx-", ALNUM, 20),  # perplexity
    ("pcsk_", "A-Za-z0-9_", 20),  # pinecone
    ("access-sandbox- access-development- access-production-", "0-9a-f-", 16),  # plaid
    ("pscale_tkn_ pscale_oauth_ pscale_pw_", DOTTED, 16),  # planetscale
    ("phx_ phc_", ALNUM, 20),  # posthog
    ("PMAK- PMAT-", WORD, 20),  # postman
    ("pnu_ pnb_", ALNUM, 16),  # prefect
    ("pul-", HEX, 24),  # pulumi
    ("pypi-AgE", WORD, 12),  # pypi
    ("rdme_", ALNUM, 30),  # readme
    ("rnd_", ALNUM, 24),  # render
    ("r8_", ALNUM, 24),  # replicate
    ("re_", "A-Za-z0-9_", 28),  # resend
    ("rubygems_", HEX, 20),  # rubygems
    ("tk-us-", WORD, 24),  # scalingo
    ("SG.", DOTTED, 24),  # sendgrid
    ("sntrys_ sntryu_ sntrya_", BASE64, 20),  # sentry
    ("sm_aat_ sm_pat_ sm_sat_", ALNUM, 10),  # settlemint
    ("shippo_live_ shippo_test_", HEX, 16),  # shippo
    ("shpat_ shpca_ shppa_ shpss_ shptka_", HEX, 16),  # shopify
    ("xoxe.xox xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-", "A-Za-z0-9.%/+=-", 10),  # slack
    ("hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/", "A-Za-z0-9/", 16),  # slack webhook
    ("squ_ sqp_ sqa_", ALNUM, 20),  # sonarqube
    ("sgp_", "A-Za-z0-9_", 24),  # sourcegraph
    ("sq0atp- sq0csp- sq0idp-", WORD, 16),  # square
    ("whsec_", BASE64, 12),  # stripe webhook, standard webhooks
    ("sbp_ sb_secret_", "A-Za-z0-9_", 16),  # supabase
    ("tskey-", WORD, 12),  # tailscale
    ("tgp_v1_", WORD, 20),  # together
    ("tfp_", DOTTED, 24),  # typeform
    ("vcp_ vci_ vck_ vca_ vcr_", ALNUM, 20),  # vercel
    ("AKLT", BASE64, 30),  # volcengine
    ("wandb_v1_", WORD, 16),  # weights and biases
    ("xai-", ALNUM, 30),  # xai
    ("AQVN t1.9eu", BASE64, 24),  # yandex
    ("hooks.zapier.com/hooks/catch/", "A-Za-z0-9/", 10),  # zapier webhook
)  # fmt: skip
"""Prefixes that only secrets have."""

SHAPES: tuple[tuple[str, str], ...] = (
    ("A3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,5}[A-Z0-9]{5}"),  # 1password secret key
    ("amzn.mws.", r"amzn\.mws\.[0-9a-f-]{20,40}"),  # amazon mws
    ("/", r"[12]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{24,32}"),  # asana
    ("AKIA ASIA ABIA ACCA A3T", r"(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{12,16}(?![A-Za-z0-9])"),  # aws access key
    ("Q~", r"[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{20,40}"),  # azure client secret
    ("LS0tLS1CRUdJTi", r"LS0tLS1CRUdJTi(?:BSU0EgUFJJVkFURS|BQUklWQVRF|BFQyBQUklWQVRF|BPUEVOU1NI|BFTkNSWVBURU|BQR1AgUFJJVkFURS|BEU0EgUFJJVkFURS)[A-Za-z0-9+/=]*"),  # base64 of a private key
    ("b3BlbnNzaC1rZXktdjE", r"b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/=]*"),  # body of an openssh key
    ("4b1d", r"4b1d[A-Za-z0-9]{38}(?![A-Za-z0-9])"),  # clickhouse cloud
    (".", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{25,40}"),  # discord bot
    ("private_key_id", r"(?<=private_key_id\": \")[0-9a-f]{40}"),  # google service account key id
    ("eyJ", r"eyJ[A-Za-z0-9_-]{8,4000}+\.(?:eyJ)?[A-Za-z0-9_-]{4,4000}+(?:\.[A-Za-z0-9_-]{0,4000}+){0,3}"),  # json web token
    ("-us", r"[0-9a-f]{32}-us\d{1,2}(?![0-9a-f])"),  # mailchimp
    ("_mmk", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),  # maxmind
    ("sk-", r"sk-(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{20,400}"),  # openai
    ("$", r"(?<!\$)\$(?:1|2[abxy]|5|6|7|y|apr1|argon2(?:id|i|d)|scrypt|pbkdf2-\w{1,10})\$[\w./+=,$-]{16,400}"),  # password hash
    ("pypi-", r"pypi-[\w-]{40,1000}"),  # pypi
    ("contribsys.com", r"[0-9a-f]{8}:[0-9a-f]{8}(?=@\w{1,20}\.contribsys\.com)"),  # sidekiq
    (":AA", r"\d{8,12}:AA[A-Za-z0-9_-]{28,40}"),  # telegram bot
    (".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{20,90}"),  # terraform cloud
    ("SK", r"SK[0-9a-f]{32}(?![0-9a-zA-Z])"),  # twilio
    ("s.", r"s\.(?=[A-Za-z]{0,23}\d)[A-Za-z0-9]{24}(?![A-Za-z0-9.])"),  # vault, old
)  # fmt: skip
"""Formats that need more than a prefix."""

# Names whose values are secrets. The first group is chosen by people, so a value may be any words.
# The second is made by machines. The third may be harmless, so a value must look like a secret.
CHOSEN = (
    "password", "passwd", "passphrase", "passcode", "pswd", "passwort", "kennwort", "mnemonic", "requirepass",
    "masterauth", "seedphrase",
)  # fmt: skip
CHOSEN_WORDS = frozenset(("pass", "pwd", "pw", "psw", "psk"))
NOT_PASS = _words("bypass compass encompass trespass surpass overpass underpass")
MADE = ("secret", "token", "credential", "creds", "apikey", "bearer", "connectionstring", "authkey")
KEYS_OF = _words("""
    api access private auth account signing sign encryption encrypt master shared service storage license
    licence deploy session app application client consumer webhook hmac jwt function functions subscription
    integration ingestion write server admin root ssh ssl tls symmetric aes fernet secret unseal recovery preshared
    """)
"""Words before `key` in the name of a secret."""
HARMLESS_TOO = _words(
    "key auth session sessionid sid sig signature salt seed otp cookie jwt dsn webhook"
)

ABOUT = _words("""
    file path dir folder url uri endpoint host name names id ids type kind length len size count limit min max policy
    expiry expires expiration ttl age regex pattern hint help label placeholder prompt text title message error
    errors stdin fd env var field column version scope scopes address algorithm alg format prefix suffix index
    at by from store manager ring usage budget bucket ref arn required reset changed validator form view page
    hash md5 sha1 sha256 chars alphabet link provider class cls func handler digest module package test tests rules rule check checker detector
    scanner word words board code codes pair frame press source map agent stream state status mode info set list
    dict default fingerprint owner user login markup level attrs content description event events endpointurl auth0 cache
    """)
"""A name with such a word after it describes a secret, and is not the secret."""
BEFORE_HARMLESS = _words("""
    max min num n no public pub primary foreign partition sort cache hot unique group idempotency object csrf
    next page sync continuation is has bucket dict map json yaml lookup index tab by input output completion
    cached prompt total used reasoning
    """)

NOT_VALUES = _words("""
    a an and any are as async await be bool boolean but by bytes bytearray class const default def dict else enum
    exists expired false field file float for from function get has if in input int integer invalid is it let
    list literal missing must nil no none not null number object of ok on optional or other please prompt
    required result return secretstr self set should show str string super that the this to true tuple type
    typeddict undefined union unknown unset use used value var void when will with yes your yield lambda new
    nothing needed given empty here env changed found rejected accepted revoked valid authentication
    authorization auth never always only inherit hidden redacted masked removed token secret key apikey
    credentials cookie basic bearer base64 utf-8 utf8 oauth oauth2 hex sha256
    """)
"""Words in the place of a value that are not values."""

SCHEMES = _words("""
    basic bearer token digest apikey api-key oauth negotiate ntlm hawk ssws splunk signature key aws
    aws4-hmac-sha256 googlelogin sharedkey sharedkeylite genie-key geniekey privatetoken jwt
    """)
"""The schemes of an Authorization header."""

PLACES: tuple[tuple[str, str], ...] = (
    ("variable", r"variable\s{1,4}\"[^\"\n]{0,60}(?i:password|secret|token|key)[^\"\n]{0,60}\"\s{0,4}\{[^{}]{0,300}?default\s{0,9}=\s{0,9}\"(?P<v>[^\"\n]{1,300})"),
    ("code=", r"[?&]code=(?P<v>[\w%./~-]{16,500})"),
    ("auth", r"\bauth ?= ?\( ?\\{0,4}[\"'][^\"'\n]{0,99}[\"'], ?\\{0,4}[\"'](?P<v>[^\"'\\\n]{1,300})"),
    ("uth(", r"(?i:basic_?auth)\( ?\\{0,4}[\"'][^\"'\n]{0,99}[\"'], ?\\{0,4}[\"'](?P<v>[^\"'\\\n]{1,300})"),
    (".login(", r"\.login\( ?\\{0,4}[\"'][^\"'\n]{0,99}[\"'], ?\\{0,4}[\"'](?P<v>[^\"'\\\n]{1,300})"),
    ("@tcp(", r":(?P<v>[^\s:@/\"']{1,200})@tcp\("),
    ("AUTH ", r"\bAUTH (?:PLAIN|LOGIN) (?P<v>[A-Za-z0-9+/=]{8,300})"),
    ("SecureString", r"ConvertTo-SecureString (?:-String )?\\{0,4}[\"'](?P<v>[^\"'\\\n]{1,300})"),
    ("/bot", r"/bot(?P<v>\d{6,12}:[A-Za-z0-9_-]{30,60})"),
    (" as ", r"(?<=\s)[`'\"]?(?P<v>(?=[^\s\d]{0,60}\d)[^\s`'\"]{8,200}+)[`'\"]? as (?:the|your|my|a|its) (?:password|passphrase|token|secret|key)\b"),
    ("gatebell", r"gatebell=(?P<v>[0-9a-f]{24,128})"),
    # The old name of the cookie: its value still opens the inbox until the login ends.
    ("humangate", r"humangate=(?P<v>[0-9a-f]{24,128})"),
    ("seal", r"seal[\"']?[=:] ?[\"']?(?P<v>[0-9a-f]{24,128})"),
    ("://", r"://[^\s/:@\"'<>]{0,99}:(?P<v>[^\s/\"'<>]{1,300})@"),
    ("://", r"://(?P<v>(?=[A-Za-z_-]{0,80}\d)[A-Za-z0-9_-]{16,300})(?=(?::x-oauth-basic)?@)"),
    ("/link/", r"/link/(?P<v>[0-9a-f]{16,128})"),
    ("AKIA", r"AKIA[A-Z0-9]{16}[\s,;:|\"']{1,6}(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"),
    ("FALSE", r"(?:TRUE|FALSE)\t/[^\t\n]{0,99}\t(?:TRUE|FALSE)\t\d{1,12}\t[^\t\n]{1,99}\t(?P<v>[^\t\n]+)"),
    ("TRUE", r"(?:TRUE|FALSE)\t/[^\t\n]{0,99}\t(?:TRUE|FALSE)\t\d{1,12}\t[^\t\n]{1,99}\t(?P<v>[^\t\n]+)"),
    ("kty", r"\"(?:d|p|q|dp|dq|qi|k)\\{0,4}\"\s{0,4}:\s{0,4}\\{0,4}\"(?P<v>[A-Za-z0-9_-]{20,2000})"),
    ("password", r"\blogin\s{1,20}\S{1,99}\s{1,20}password\s{1,9}(?P<v>\S{1,300})"),
    ("asswor", r"(?i:\bpassword)\s{1,9}'(?P<v>[^'\n]{1,300})'"),
    ("ASSWOR", r"PASSWORD\s{1,9}'(?P<v>[^'\n]{1,300})'"),
    ("IDENTIFIED", r"IDENTIFIED\s{1,9}(?:WITH\s{1,9}\S{1,60}\s{1,9})?(?:BY|AS)\s{1,9}(?:PASSWORD\s{1,9})?['\"](?P<v>[^'\"\n]{1,300})"),
    ("identified by", r"identified by\s{1,9}['\"](?P<v>[^'\"\n]{1,300})"),
    (":", r"(?<![\w./:@-])[\w.*-]{1,99}:(?:\d{4,5}|\*):(?=[\w*-]{0,98}[A-Za-z*])[\w*-]{1,99}:[\w*-]{1,99}:(?P<v>[^\s\"'\\]{1,300})(?=$|[\n\r\"'\\])"),
    ("PASS ", r"(?m:^)[\w:. \[\]>*-]{0,60}(?<![\w-])PASS (?P<v>(?=\D{0,60}\d)[^\s:]{6,100})(?m:$)"),
    ("enable secret", r"enable secret \d (?P<v>\S{1,200})"),
)  # fmt: skip
"""Places of secrets of any format: a word of the text, and the place."""

OPTIONS: tuple[tuple[str, str], ...] = (
    ("curl", r"(?:-u|--user|-U|--proxy-user)(?:=|\s{0,9})[\"']?[^\s:\"']{0,99}:(?P<v>[^\s\"']+)"),
    ("curl", r"(?:-b|--cookie)(?:=|\s{1,9})[\"']?[^\s\"'=]{1,99}=(?P<v>[^\"'\n]+)"),
    ("wget", r"--(?:http-|ftp-|proxy-)?password[= ](?P<v>\S+)"),
    ("http", r"(?:\s-a|--auth)[= ]\s{0,9}[\"']?[^\s:\"']{1,99}:(?P<v>[^\s\"']+)"),
    ("sshpass", r"\s-p\s{0,9}(?P<v>\"[^\"\n]+|'[^'\n]+|\S+)"),
    ("mysql", r"\s-p(?P<v>[^\s-]\S*)"),
    ("mariadb", r"\s-p(?P<v>[^\s-]\S*)"),
    ("login", r"\s-p\s{1,9}(?P<v>\"[^\"\n]+|'[^'\n]+|[^\s-]\S*)"),
    (" -u", r"\s-p\s{0,4}(?P<v>(?=[^\s/]{0,60}[A-Za-z])(?=[^\s\d]{0,60}\d)[^\s/=:-][^\s/=:]{5,99})(?=\s|$)"),
    ("net use", r"/user:\S{1,99}\s{1,9}(?P<v>[^\s/]\S{0,99})"),
    ("http-basic.", r"http-basic\.\S{1,99}\s{1,9}\S{1,99}\s{1,9}(?P<v>\S{1,300})"),
    ("sqlplus", r"sqlplus\s{1,4}(?:-\S{1,9}\s{1,4}){0,3}[^\s/]{1,60}/(?P<v>[^\s@]{1,100})"),
    ("encrypt_string", r"encrypt_string\s{1,4}(?P<v>\"[^\"\n]+|'[^'\n]+)"),
    ("cqlsh", r"\s-p\s{1,9}(?P<v>[^\s-]\S*)"),
    ("twine", r"\s-p\s{1,9}(?P<v>[^\s-]\S*)"),
    ("mongo", r"\s-p\s{1,9}(?P<v>[^\s-]\S*)"),
    ("redis-cli", r"\s-a\s{1,9}(?P<v>\"[^\"\n]+|'[^'\n]+|\S+)"),
    ("ldap", r"\s-w\s{1,9}(?P<v>\"[^\"\n]+|'[^'\n]+|\S+)"),
    ("plink", r"\s-pw\s{1,9}(?P<v>\S+)"),
    ("pscp", r"\s-pw\s{1,9}(?P<v>\S+)"),
    ("sqlcmd", r"\s-P\s{0,9}(?P<v>\S+)"),
    ("smbclient", r"\s-U\s{0,9}[\"']?[^\s%\"']{1,99}%(?P<v>[^\s\"']+)"),
    ("lftp", r"\s-u\s{0,9}[^\s,]{1,99},(?P<v>\S+)"),
    ("htpasswd", r"\s-[a-zA-Z]{0,9}b[a-zA-Z]{0,9}\s{1,9}\S{1,200}\s{1,9}\S{1,99}\s{1,9}(?P<v>\S+)"),
    ("htpasswd", r"\s-[a-zA-Z]{0,9}n[a-zA-Z]{0,9}\s{1,9}\S{1,99}\s{1,9}(?P<v>\S+)"),
    ("openssl", r"\bpass:(?P<v>[^\s\"']+)"),
    ("zip", r"\s-P\s{1,9}(?P<v>\S+)"),
    ("7z", r"\s-p(?P<v>[^\s-]\S*)"),
    ("rabbitmqctl", r"(?:add_user|change_password)\s{1,9}\S{1,99}\s{1,9}(?P<v>\S+)"),
    ("kubectl", r"--from-literal[= ][\"']?[\w.-]{1,99}=(?P<v>[^\s\"']+)"),
    ("gh secret", r"(?:-b|--body)[= ]\s{0,9}(?P<v>\"[^\"\n]+|'[^'\n]+|\S+)"),
    ("vault login", r"vault login\s{1,9}(?P<v>[^\s=-][^\s=]{5,})"),
    ("cargo login", r"cargo login\s{1,9}(?P<v>\S{12,})"),
    ("authtoken", r"authtoken\s{1,9}(?P<v>[^\s-]\S+)"),
    ("--password-stdin", r"\b(?:echo|printf)\s{1,9}(?:-n\s{1,9})?(?P<v>\"[^\"\n$]+|'[^'\n]+|[^\s$\"'|]+)(?=[\"']?\s{0,9}\|)"),
    ("chpasswd", r"\becho\s{1,9}[\"']?[\w.-]{1,99}:(?P<v>[^\s\"'|]+)"),
    ("sudo -S", r"\becho\s{1,9}[\"']?(?P<v>[^\s\"'|$]+)[\"']?\s{0,9}\|"),
    ("net user", r"net user\s{1,9}\S{1,99}\s{1,9}(?P<v>[^\s/]\S*)"),
    ("requirepass", r"requirepass\s{1,9}(?P<v>\S+)"),
    ("masterauth", r"masterauth\s{1,9}(?P<v>\S+)"),
    ("aws configure", r"aws_(?:secret_access_key|session_token|access_key_id)\s{1,9}(?P<v>\S+)"),
    ("snmp", r"\s-[AX]\s{1,9}(?P<v>\S+)"),
)  # fmt: skip
"""Places of secrets in the options of known programs: a word of the line, and the place."""
