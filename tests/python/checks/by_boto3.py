"""AWS' client against the runtime of Bedrock."""

import json

import boto3
from botocore.config import Config
from botocore.exceptions import EventStreamError
from running import equal, refused, true

NOVA = "eu.amazon.nova-2-lite-v1:0"
PROFILE = "arn:aws:bedrock:eu-central-1:111122223333:application-inference-profile/abc"
WEATHER = {
    "toolSpec": {
        "name": "get_weather",
        "description": "The weather in a city",
        "inputSchema": {
            "json": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
        },
    }
}


def said(*content):
    return {"role": "user", "content": list(content)}


def invoked(**more):
    body = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 50,
        "messages": [{"role": "user", "content": "Hello"}],
        **more,
    }
    return {
        "modelId": PROFILE,
        "contentType": "application/json",
        "accept": "application/json",
        "body": json.dumps(body),
    }


def run(running, given):
    account = given["accounts"]["aws"]

    def open_client(**more):
        return boto3.client(
            "bedrock-runtime",
            **{
                "endpoint_url": given["clouds"]["bedrock"],
                "region_name": account["region"],
                "aws_access_key_id": account["accessKeyId"],
                "aws_secret_access_key": account["secretAccessKey"],
                "aws_session_token": account["sessionToken"],
                "config": Config(retries={"total_max_attempts": 1}),
                **more,
            },
        )

    client = open_client()
    hello = {"modelId": NOVA, "messages": [said({"text": "Hello"})]}

    @running.check("boto3: converse")
    def _():
        answer = client.converse(**hello)
        equal(answer["output"]["message"], {"role": "assistant", "content": [{"text": "You said: Hello"}]})
        equal(answer["stopReason"], "end_turn")
        equal(answer["usage"]["totalTokens"], answer["usage"]["inputTokens"] + answer["usage"]["outputTokens"])

    @running.check("boto3: converse_stream")
    def _():
        events = list(client.converse_stream(**hello)["stream"])
        deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
        equal("".join(delta["text"] for delta in deltas), "You said: Hello")
        equal(list(events[0]), ["messageStart"])
        equal([next(iter(event)) for event in events[-2:]], ["messageStop", "metadata"])

    @running.check("boto3: a call of converse and its result")
    def _():
        asked = said({"text": "use tool get_weather"})
        more = {"modelId": NOVA, "toolConfig": {"tools": [WEATHER]}}
        answer = client.converse(messages=[asked], **more)
        equal(answer["stopReason"], "tool_use")
        message = answer["output"]["message"]
        call = message["content"][0]["toolUse"]
        result = {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": "21 degrees"}]}}
        answer = client.converse(messages=[asked, message, said(result)], **more)
        equal(answer["output"]["message"]["content"], [{"text": "The tool answered: 21 degrees"}])

    @running.check("boto3: reasoning of converse goes back with its signature")
    def _():
        more = {
            "modelId": "eu.anthropic.claude-opus-4-5",
            "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            "inferenceConfig": {"maxTokens": 2048},
        }
        first = said({"text": "Hello"})
        message = client.converse(messages=[first], **more)["output"]["message"]
        true("signature" in message["content"][0]["reasoningContent"]["reasoningText"], "no signature")
        client.converse(messages=[first, message, said({"text": "And now?"})], **more)
        message["content"][0]["reasoningContent"]["reasoningText"]["signature"] = "c29tZW9uZSBlbHNl"
        with refused(client.exceptions.ValidationException):
            client.converse(messages=[first, message, said({"text": "And now?"})], **more)

    @running.check("boto3: an exception after the beginning of converse_stream")
    def _():
        messages = [said({"text": "Hello there [[simulate error-event-after=3]]"})]
        stream = client.converse_stream(modelId=NOVA, messages=messages)["stream"]
        with refused(EventStreamError, "modelStreamErrorException"):
            list(stream)

    @running.check("boto3: converse of a conversation that the model may not begin")
    def _():
        with refused(client.exceptions.ValidationException, "must start with a user message"):
            client.converse(modelId=NOVA, messages=[{"role": "assistant", "content": [{"text": "Hello"}]}])

    @running.check("boto3: converse that is throttled")
    def _():
        with refused(client.exceptions.ThrottlingException):
            client.converse(modelId=NOVA, messages=[said({"text": "Hello [[simulate status=429]]"})])

    @running.check("boto3: count_tokens")
    def _():
        converse = {"messages": hello["messages"]}
        counted = client.count_tokens(modelId="amazon.nova-2-lite-v1:0", input={"converse": converse})
        equal(counted["inputTokens"], client.converse(**hello)["usage"]["inputTokens"])

    @running.check("boto3: invoke_model")
    def _():
        answer = json.loads(client.invoke_model(**invoked())["body"].read())
        equal([block["text"] for block in answer["content"]], ["You said: Hello"])

    @running.check("boto3: invoke_model_with_response_stream")
    def _():
        body = client.invoke_model_with_response_stream(**invoked())["body"]
        events = [json.loads(event["chunk"]["bytes"]) for event in body]
        deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]
        equal("".join(delta["text"] for delta in deltas), "You said: Hello")
        equal(events[-1]["type"], "message_stop")
        true(events[-1]["amazon-bedrock-invocationMetrics"]["outputTokenCount"] > 0, "no tokens")

    @running.check("boto3: invoke_model with a model in the body")
    def _():
        with refused(client.exceptions.ValidationException, "Extra inputs are not permitted"):
            client.invoke_model(**invoked(model="claude-opus-5"))

    @running.check("boto3: a wrong secret")
    def _():
        with refused(client.exceptions.ClientError, "InvalidSignatureException"):
            open_client(aws_secret_access_key="another-secret").converse(**hello)

    @running.check("boto3: an unknown access key")
    def _():
        with refused(client.exceptions.ClientError, "UnrecognizedClientException"):
            open_client(aws_access_key_id="AKIDOTHER").converse(**hello)

    @running.check("boto3: an expired session")
    def _():
        with refused(client.exceptions.ClientError, "ExpiredTokenException"):
            open_client(aws_session_token="an-old-one").converse(**hello)

    @running.check("boto3: another region")
    def _():
        with refused(client.exceptions.ClientError, "valid region"):
            open_client(region_name="us-east-1").converse(**hello)
