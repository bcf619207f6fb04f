"""Runs every check. Reads the addresses and the accounts from the standard input."""

import json
import sys

import by_anthropic
import by_boto3
import by_google
import by_openai
import through_gateway
from running import Running

GROUPS = (by_boto3, by_anthropic, by_openai, by_google, through_gateway)

given = json.load(sys.stdin)
running = Running()
for group in GROUPS:
    group.run(running, given)
sys.exit(running.finish())
