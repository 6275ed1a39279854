"""Prints cases of mapping rules, one a line, for `MappingProbe.java`: rules, a tab, a name."""

NAMES = (
    "CN=alice,OU=Sales,O=Test", "CN=alice", "CN=kafka1.example.org,OU=Service Users", "", "CN=a\\,b,O=x", "O=M\u00fcller",
    "CN=a\nb", "CN=a\rb", "CN=ab\u2028", "CN=aa\n", "cn=ALICE", "CN=a/b", "CN=\u0130\u0131\u00df\u03a3", "CN=aXbXc",
)  # fmt: skip
RULES = (
    "DEFAULT", "", ",", " , DEFAULT", "default", "DEFAULT2", "DEFAULT,", "RULE:^CN=(.*?),.*$/$1/", "RULE:^CN=(.*?),.*$/$1/L",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/U,DEFAULT", "RULE:CN=(.*)/$1/,RULE:.*/x/", "RULE:.*/x/", "RULE:.*/x/L,",
    "RULE:(.*)/$1$1/", "RULE:.*CN=(\\w+).*/$1/", "RULE:CN=(.*?)/$1/", "RULE:^cn=(.*)$/$1/", "RULE:(?i)^cn=(.*)$/$1/",
    "RULE:CN=(a)(.*)/$2$1/", "RULE:CN=(a)(.*)/$12$3$0/", "RULE:CN=(.*)/$2/", "RULE:CN=.*/$1/", "RULE:CN=.*/$0/", "RULE:CN=.*/$/",
    "RULE:CN=.*/\\$1/", "RULE:CN=.*/a\\/b/", "RULE:CN=a\\/b/slash/", "RULE:CN=.*/a b /L , DEFAULT ", "RULE:CN=.*/a/X", "RULE:CN=.*/a/LU",
    "RULE:CN=.*/a", "RULE:CN=.*", "RULE://a/", "RULE:CN=(.*)//", "RULE:CN=(.*)/$1/ junk", "RULE:CN=(.*/$1/", "RULE:CN=[a/$1/",
    "RULE:CN=a.b/dot/", "RULE:CN=a$/end/", "RULE:CN=a.$/end/", "RULE:CN=a{1,2}.*/braces/", "RULE:CN=a{/x/", "RULE:CN=(?<who>.*)/${who}!/",
    "RULE:CN=(?<who>.*)/${whom}/", "RULE:CN=(?<who>a)\\k<who>.*/x/", "RULE:CN=(a)\\1.*/twice/", "RULE:CN=[^,]*/none/", "RULE:CN=[a-z&&[a]]*/x/",
    "RULE:\\QCN=a\\E.*/quoted/", "RULE:CN=\\p{Alpha}+/x/", "RULE:CN=\\S+\\s?.*/s/", "RULE:.*\\bOU=(\\w+).*/$1/", "RULE:X/y/,RULE:CN=a(.*)/r$1/",
    "RULE:X*/-/", "RULE:[CN=aXb]*c?/-/", "RULE:(X|.)*/$1/", "RULE:CN=(b)?a.*/[$1]/", "RULE:CN=a++.*/p/", "RULE:CN=(?>a).*/p/", "RULE:CN=a,b/x/",
    "RULE:CN=a(?!a).*/p/", "RULE:CN=.(?<=a).*/p/", "RULE:.*/\u00df/U", "RULE:.*/a,b/", "RULE:CN=[\\w.-]+/chars/", "RULE:CN=[]a]*/x/", "RULE:CN=a|b/x/",
    "RULE:(.*)/$1/L", "RULE:(.*)/$1/U", "RULE:CN=([^,]*).*/$01/", "RULE:CN=.*/a\\\\b/", "RULE:CN=(.*)/a$$1/", "RULE:CN=(?:a)(?=.*).*/q/",
)  # fmt: skip


def escape(text: str) -> str:
    return "".join(each if " " <= each < "~" else f"~u{ord(each):04x}" for each in text)


if __name__ == "__main__":
    for rules in RULES:
        for name in NAMES:
            print(f"{escape(rules)}\t{escape(name)}")
