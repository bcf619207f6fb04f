"""Anthropic's clients against each cloud that serves Claude."""

from anthropic import (
    AnthropicBedrock,
    AnthropicBedrockMantle,
    AnthropicError,
    AnthropicFoundry,
    AnthropicVertex,
    AuthenticationError,
    BadRequestError,
    NotFoundError,
    PermissionDeniedError,
)
from anthropic.lib.aws import AnthropicAWS
from google.oauth2.credentials import Credentials
from running import equal, refused, true

WEATHER = {
    "name": "get_weather",
    "description": "The weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
HELLO = [{"role": "user", "content": "Hello"}]


def check_messages(running, name, client, model, counts=True):
    """Whole, streamed, with a tool, with thinking that goes back, counted."""

    @running.check(f"{name}: messages")
    def _():
        message = client.messages.create(model=model, max_tokens=50, messages=HELLO)
        equal([block.text for block in message.content], ["You said: Hello"])
        equal(message.stop_reason, "end_turn")
        true(message.usage.input_tokens > 0 and message.usage.output_tokens > 0, "no usage")

    @running.check(f"{name}: messages, streamed")
    def _():
        with client.messages.stream(model=model, max_tokens=50, messages=HELLO) as stream:
            equal("".join(stream.text_stream), "You said: Hello")
            equal(stream.get_final_message().stop_reason, "end_turn")

    @running.check(f"{name}: events, streamed")
    def _():
        events = list(client.messages.create(model=model, max_tokens=50, messages=HELLO, stream=True))
        equal((events[0].type, events[-1].type), ("message_start", "message_stop"))

    @running.check(f"{name}: a call and its result")
    def _():
        asked = [{"role": "user", "content": "use tool get_weather"}]
        more = {"model": model, "max_tokens": 50, "tools": [WEATHER]}
        with client.messages.stream(messages=asked, **more) as stream:
            message = stream.get_final_message()
        equal(message.stop_reason, "tool_use")
        [call] = [block for block in message.content if block.type == "tool_use"]
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "21 degrees"}
        thread = [*asked, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        answer = client.messages.create(messages=thread, **more)
        equal([block.text for block in answer.content], ["The tool answered: 21 degrees"])

    @running.check(f"{name}: thinking goes back with its signature")
    def _():
        more = {"model": model, "max_tokens": 4000, "thinking": {"type": "adaptive"}}
        with client.messages.stream(messages=HELLO, **more) as stream:
            message = stream.get_final_message()
        equal([block.type for block in message.content], ["thinking", "text"])
        answered = {"role": "assistant", "content": message.content}
        client.messages.create(messages=[*HELLO, answered, {"role": "user", "content": "Go on"}], **more)

    @running.check(f"{name}: a request that is not valid")
    def _():
        with refused(BadRequestError, "max_tokens"):
            client.messages.create(model=model, max_tokens=-1, messages=HELLO)

    if counts:

        @running.check(f"{name}: count_tokens")
        def _():
            true(client.messages.count_tokens(model=model, messages=HELLO).input_tokens > 0, "no tokens")


def run(running, given):
    clouds, accounts = given["clouds"], given["accounts"]
    aws, google, microsoft = accounts["aws"], accounts["google"], accounts["microsoft"]
    signed = {
        "aws_access_key": aws["accessKeyId"],
        "aws_secret_key": aws["secretAccessKey"],
        "aws_session_token": aws["sessionToken"],
        "aws_region": aws["region"],
        "max_retries": 0,
    }

    def bedrock(**more):
        return AnthropicBedrock(**{**signed, "base_url": clouds["bedrock"], **more})

    profile = "eu.anthropic.claude-opus-5"
    check_messages(running, "AnthropicBedrock", bedrock(), profile, counts=False)
    arn = f"arn:aws:bedrock:{aws['region']}:111122223333:application-inference-profile/abc"

    @running.check("AnthropicBedrock: the ARN of a profile")
    def _():
        message = bedrock().messages.create(model=arn, max_tokens=50, messages=HELLO)
        equal(message.content[0].text, "You said: Hello")

    @running.check("AnthropicBedrock: a key of Bedrock's in place of a signature")
    def _():
        client = AnthropicBedrock(
            api_key=aws["apiKey"], aws_region=aws["region"], base_url=clouds["bedrock"], max_retries=0
        )
        message = client.messages.create(model=profile, max_tokens=50, messages=HELLO)
        equal(message.content[0].text, "You said: Hello")

    @running.check("AnthropicBedrock: betas, known and unknown")
    def _():
        beta = bedrock().beta.messages
        asked = {"model": "eu.anthropic.claude-opus-4-5", "max_tokens": 50, "messages": HELLO}
        beta.create(betas=["context-1m-2025-08-07"], **asked)
        with refused(BadRequestError, "invalid beta flag"):
            beta.create(betas=["advanced-tool-use-2025-11-20"], **asked)

    @running.check("AnthropicBedrock: count_tokens, which this client refuses by itself")
    def _():
        with refused(AnthropicError, "not supported in Bedrock"):
            bedrock().messages.count_tokens(model=profile, messages=HELLO)

    @running.check("AnthropicBedrock: a wrong secret")
    def _():
        with refused(PermissionDeniedError, "does not match"):
            bedrock(aws_secret_key="another").messages.create(model=profile, max_tokens=50, messages=HELLO)

    def mantle(**more):
        return AnthropicBedrockMantle(**{**signed, "base_url": f"{clouds['mantle']}/anthropic", **more})

    check_messages(running, "AnthropicBedrockMantle", mantle(), "anthropic.claude-opus-5")

    @running.check("AnthropicBedrockMantle: a wrong secret")
    def _():
        with refused(PermissionDeniedError, "does not match"):
            mantle(aws_secret_key="another").messages.create(
                model="anthropic.claude-opus-5", max_tokens=50, messages=HELLO
            )

    def platform(**more):
        return AnthropicAWS(
            **{**signed, "base_url": clouds["platform"], "workspace_id": aws["workspaceId"], **more}
        )

    check_messages(running, "AnthropicAWS", platform(), "claude-opus-5")

    @running.check("AnthropicAWS: a wrong secret")
    def _():
        with refused(PermissionDeniedError, "does not match"):
            platform(aws_secret_key="another").messages.create(
                model="claude-opus-5", max_tokens=50, messages=HELLO
            )

    def vertex(token=google["token"], project=google["project"]):
        return AnthropicVertex(
            base_url=f"{clouds['vertex']}/v1",
            region=google["location"],
            project_id=project,
            credentials=Credentials(token),
            max_retries=0,
        )

    dated = "claude-opus-4-5@20251101"
    check_messages(running, "AnthropicVertex", vertex(), dated)

    @running.check("AnthropicVertex: an old token, and a project of somebody else")
    def _():
        with refused(AuthenticationError, "invalid authentication credentials"):
            AnthropicVertex(
                base_url=f"{clouds['vertex']}/v1",
                region=google["location"],
                project_id=google["project"],
                access_token="an-old-token",
                max_retries=0,
            ).messages.create(model=dated, max_tokens=50, messages=HELLO)
        with refused(PermissionDeniedError, "denied"):
            vertex(project="p2").messages.create(model=dated, max_tokens=50, messages=HELLO)

    def foundry(**credentials):
        return AnthropicFoundry(base_url=f"{clouds['foundry']}/anthropic", max_retries=0, **credentials)

    opus = microsoft["claude"]
    check_messages(running, "AnthropicFoundry with a key", foundry(api_key=microsoft["apiKey"]), opus)
    by_token = foundry(azure_ad_token_provider=lambda: microsoft["token"])
    check_messages(running, "AnthropicFoundry with a token", by_token, opus)

    @running.check("AnthropicFoundry: a wrong key, and no deployment")
    def _():
        with refused(AuthenticationError, "Access denied"):
            foundry(api_key="another").messages.create(model=opus, max_tokens=50, messages=HELLO)
        with refused(NotFoundError, "does not exist"):
            by_token.messages.create(model="no-deployment", max_tokens=50, messages=HELLO)
