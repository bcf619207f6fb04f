"""OpenAI's clients against Azure, and against the clouds that speak its protocols."""

from openai import AuthenticationError, AzureOpenAI, NotFoundError, OpenAI, PermissionDeniedError
from running import equal, refused

HELLO = [{"role": "user", "content": "Hello"}]


def check_chat(running, name, client, model):
    @running.check(f"{name}: chat")
    def _():
        answer = client.chat.completions.create(model=model, messages=HELLO)
        equal(answer.choices[0].message.content, "You said: Hello")

    @running.check(f"{name}: chat, streamed")
    def _():
        chunks = list(client.chat.completions.create(model=model, messages=HELLO, stream=True))
        texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
        equal("".join(texts), "You said: Hello")


def check_responses(running, name, client, model):
    @running.check(f"{name}: responses")
    def _():
        equal(client.responses.create(model=model, input="Hello").output_text, "You said: Hello")

    @running.check(f"{name}: responses, streamed")
    def _():
        with client.responses.stream(model=model, input="Hello") as stream:
            events = [event.type for event in stream]
            equal(stream.get_final_response().output_text, "You said: Hello")
        equal((events[0], events[-1]), ("response.created", "response.completed"))


def run(running, given):
    clouds, accounts = given["clouds"], given["accounts"]
    aws, google, microsoft = accounts["aws"], accounts["google"], accounts["microsoft"]
    gpt = microsoft["gpt"]

    def azure(**credentials):
        return AzureOpenAI(
            azure_endpoint=clouds["foundry"], api_version="2025-04-01-preview", max_retries=0, **credentials
        )

    ways = {
        "AzureOpenAI with a key": azure(api_key=microsoft["apiKey"]),
        "AzureOpenAI with a token": azure(azure_ad_token_provider=lambda: microsoft["token"]),
    }
    for name, client in ways.items():
        check_chat(running, name, client, gpt)
        check_responses(running, name, client, gpt)

        @running.check(f"{name}: no deployment")
        def _():
            with refused(NotFoundError, "does not exist"):
                client.chat.completions.create(model="no-deployment", messages=HELLO)

    @running.check("AzureOpenAI: a wrong key, and a token for another audience")
    def _():
        with refused(AuthenticationError, "Access denied"):
            azure(api_key="another").responses.create(model=gpt, input="Hello")
        with refused(AuthenticationError, "Access denied"):
            azure(azure_ad_token="of-another-audience").chat.completions.create(model=gpt, messages=HELLO)

    on_azure = OpenAI(base_url=f"{clouds['foundry']}/openai/v1/", api_key=lambda: microsoft["token"], max_retries=0)
    check_chat(running, "OpenAI on Azure's v1", on_azure, gpt)
    check_responses(running, "OpenAI on Azure's v1", on_azure, gpt)

    def bedrock(key):
        return OpenAI(base_url=f"{clouds['mantle']}/openai/v1", api_key=key, max_retries=0)

    check_chat(running, "OpenAI on Bedrock", bedrock(aws["apiKey"]), "openai.gpt-5.2")
    check_responses(running, "OpenAI on Bedrock", bedrock(aws["apiKey"]), "openai.gpt-5.2")

    @running.check("OpenAI on Bedrock: a wrong key")
    def _():
        with refused(PermissionDeniedError, "API Key is valid"):
            bedrock("another").responses.create(model="openai.gpt-5.2", input="Hello")

    base = f"{clouds['vertex']}/v1/projects/{google['project']}/locations/{google['location']}"

    def vertex(path, token=google["token"]):
        return OpenAI(base_url=f"{base}/{path}", api_key=token, max_retries=0)

    check_chat(running, "OpenAI on Vertex AI", vertex("endpoints/openapi"), "google/gemini-3.6-flash")
    check_responses(running, "OpenAI on Vertex AI", vertex("publishers/openai/v1"), "gpt-5.2")

    @running.check("OpenAI on Vertex AI: an old token")
    def _():
        with refused(AuthenticationError, "invalid authentication credentials"):
            vertex("endpoints/openapi", "an-old-token").chat.completions.create(model="m", messages=HELLO)
