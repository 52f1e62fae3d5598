"""What the commands of the documents print: patterns, in the order of the output.

A terminal gets escape codes between the name of a header and its colon, because curl shows the name in bold.
"""

EXPECTED = {
    "README.md": [
        r'"data":\[\{"id":[0-9]+',
        r'"status":"open"',
        r"(?i)idempotency-replayed[^:]*: true",
        r'"name":"Grace Hopper"',
        r'"status":"queued"',
        r'"status":"completed".*"transcript":\[\{"speaker":"agent"',
        r'"data":\[\{"id":[0-9]+,"name":"Grace Hopper"',
        r'"stage":"offer"',
        r'"stage":"hired"',
        r'"kind":"hired"',
        r'"applicants":1,"screens":1,"screens_completed":1',
        r"303\n",
        r'"name":"Ada Lovelace"',
        r'"external_id":"[0-9]+"',
        r'"x":\{"connected":true',
        r"(?i)link[^:]*: ",
        r'"data":\[\{"id":[0-9]+,"title":"Recruiter"',
        r"titel is not a known field",
        r"stage cannot go from hired to rejected",
        # The quota is used up once a day.
        r"(200 ){100}429|(429 ){101}",
        r"(?i)retry-after[^:]*: [0-9]+",
    ],
    "functions/README.md": [
        r'"status":"checked"',
        r'"row":1,[^}]*"result":"create"',
        r'"row":2,[^}]*"result":"invalid"',
        r'"status":"done"',
    ],
}
