"""ministack as one program that ends with whoever started it: `python local_cloud.py FOLDER`, in a process group of its own.

It differs from `python -m ministack` in five things:

- IAM's context of a DynamoDB request holds `dynamodb:LeadingKeys`, which ministack 1.5 leaves out. Every policy that names token ids asks for it, and a key that
  is missing denies all calls. As AWS says, it holds the partition keys that the request names; our tables have no sort key. It holds `dynamodb:ReturnValues`, and in
  `dynamodb:Attributes` also what a write names, in its expressions and its key.
- IAM's context of a request to KMS holds its encryption context.
- `Ref` of a secret is its ARN, as CloudFormation documents it; ministack 1.5 gives its name, for which no policy of CDK's is meant.
- It listens on its own port alone, not on 443 as well.
- When its standard input ends, it removes FOLDER, in which all its files are, and ends with all functions that it runs.
"""

import json
import os
import re
import shutil
import signal
import sys
import threading

from ministack import app
from ministack.core import iam_actions
from ministack.services import secretsmanager
from ministack.services.cloudformation import provisioners


def partition_keys(request):
    """The values of every `Key`, and of every one of `Keys`, at whatever depth: of a single call, a batch, or a transaction."""
    if isinstance(request, list):
        return [value for part in request for value in partition_keys(part)]
    if not isinstance(request, dict):
        return []
    found = []
    for name, part in request.items():
        keys = [part] if name == "Key" else part if name == "Keys" else None
        if keys is None:
            found += partition_keys(part)
        else:
            found += [str(value) for key in keys for typed in key.values() for value in typed.values()]
    return found


without_leading_keys = iam_actions.dynamodb_service_context


KEYWORDS = {"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "IN", "BETWEEN"}


def written_attributes(request):
    """The top-level attributes that a write names; our probes name none behind a placeholder."""
    expressions = " ".join(request.get(name, "") for name in ("UpdateExpression", "ConditionExpression"))
    names = re.findall(r"(?<![\w:.])([A-Za-z_]\w*)(?!\w*\s*\()", expressions)
    return list(request.get("Key", {})) + [name for name in names if name not in KEYWORDS]


def with_all_keys(body):
    request = json.loads(body or b"{}")
    context = without_leading_keys(body)
    keys = partition_keys(request)
    if keys:
        context["dynamodb:LeadingKeys"] = keys
    if "UpdateExpression" in request:
        context["dynamodb:Attributes"] = written_attributes(request)
        context["dynamodb:ReturnValues"] = request.get("ReturnValues", "NONE")
    return context


without_encryption_context = iam_actions.request_tag_context


def with_encryption_context(service, action, body, parameters):
    context = without_encryption_context(service, action, body, parameters)
    pairs = json.loads(body or b"{}").get("EncryptionContext", {}) if service == "kms" else {}
    return {**context, **{f"kms:EncryptionContext:{name}": value for name, value in pairs.items()}}


secret_by_name = provisioners._RESOURCE_HANDLERS["AWS::SecretsManager::Secret"]


def create_secret(*args):
    _, attributes = secret_by_name["create"](*args)
    return attributes["Arn"], attributes


def delete_secret(arn, properties):
    secret_by_name["delete"](secretsmanager._resolve(arn)[0], properties)


def end_with_parent(folder):
    sys.stdin.read()
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


if len(sys.argv) != 2 or os.getpgid(0) != os.getpid():
    sys.exit(__doc__)
iam_actions.dynamodb_service_context = with_all_keys
iam_actions.request_tag_context = with_encryption_context
provisioners._RESOURCE_HANDLERS["AWS::SecretsManager::Secret"] = {"create": create_secret, "delete": delete_secret}
app._port_is_bindable = lambda *_: False
threading.Thread(target=end_with_parent, args=[sys.argv.pop()], daemon=True).start()
app.main()
