"""Calls AWS by AWS's own client: a JSON list of [service, operation, parameters] comes in, the list of the answers goes out."""

import json
import sys

from botocore.session import Session

session = Session()
answers = []
for service, operation, parameters in json.load(sys.stdin):
    answer = getattr(session.create_client(service), operation)(**parameters)
    answer.pop("ResponseMetadata", None)
    answers.append(answer)
json.dump(answers, sys.stdout, default=str)
