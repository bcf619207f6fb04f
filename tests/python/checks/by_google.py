"""Google's client against the Gemini API and against Vertex AI."""

from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials
from running import equal, refused, true

MODEL = "gemini-3.6-flash"
WEATHER = types.Tool(
    function_declarations=[
        types.FunctionDeclaration(
            name="get_weather",
            description="The weather in a city",
            parameters_json_schema={
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        )
    ]
)


def check_gemini(running, name, client):
    models = client.models

    @running.check(f"{name}: generate_content")
    def _():
        answer = models.generate_content(model=MODEL, contents="Hello")
        equal(answer.text, "You said: Hello")
        counted = models.count_tokens(model=MODEL, contents="Hello")
        equal(answer.usage_metadata.prompt_token_count, counted.total_tokens)

    @running.check(f"{name}: generate_content_stream")
    def _():
        chunks = list(models.generate_content_stream(model=MODEL, contents="Hello there"))
        equal("".join(chunk.text or "" for chunk in chunks), "You said: Hello there")
        equal(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)

    @running.check(f"{name}: a call goes back with its thought signature, and not without it or with another")
    def _():
        asked = types.Content(role="user", parts=[types.Part(text="use tool get_weather")])
        config = types.GenerateContentConfig(
            tools=[WEATHER], automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
        )
        answer = models.generate_content(model=MODEL, contents=[asked], config=config)
        [call] = answer.function_calls
        content = answer.candidates[0].content
        true(content.parts[0].thought_signature, "no signature")
        result = types.Content(
            role="user",
            parts=[types.Part.from_function_response(name=call.name, response={"output": "21 degrees"})],
        )

        def go_on():
            return models.generate_content(model=MODEL, contents=[asked, content, result], config=config)

        equal(go_on().text, "The tool answered: 21 degrees")
        for signature in (None, b"of somebody else"):
            content.parts[0].thought_signature = signature
            with refused(errors.ClientError, "signature"):
                go_on()

    @running.check(f"{name}: JSON by a schema")
    def _():
        config = types.GenerateContentConfig(
            response_mime_type="application/json",
            response_json_schema={
                "type": "object",
                "properties": {"city": {"type": "string"}},
                "required": ["city"],
            },
        )
        answer = models.generate_content(model=MODEL, contents="Hello", config=config)
        true(isinstance(answer.parsed["city"], str), "no city")

    @running.check(f"{name}: a stream whose thoughts come first")
    def _():
        config = types.GenerateContentConfig(
            thinking_config=types.ThinkingConfig(thinking_level="high", include_thoughts=True)
        )
        stream = models.generate_content_stream(model=MODEL, contents="Hello there", config=config)
        parts = [part for chunk in stream for part in chunk.candidates[0].content.parts]
        said = [part for part in parts if not part.thought]
        true(parts[0].thought and parts[0].text, "no thoughts at the beginning")
        true(all(part in said for part in parts[parts.index(said[0]) :]), "thoughts after the text")
        equal("".join(part.text or "" for part in said), "You said: Hello there")

    @running.check(f"{name}: JSON by a schema of Google's own form")
    def _():
        config = types.GenerateContentConfig(
            response_mime_type="application/json",
            response_schema=types.Schema(
                type=types.Type.OBJECT,
                properties={"city": types.Schema(type=types.Type.STRING)},
                required=["city"],
            ),
        )
        answer = models.generate_content(model=MODEL, contents="Hello", config=config)
        true(isinstance(answer.parsed["city"], str), "no city")

    @running.check(f"{name}: a blocked prompt")
    def _():
        answer = models.generate_content(model=MODEL, contents="these are forbidden words")
        true(answer.prompt_feedback.block_reason, "it was not blocked")

    @running.check(f"{name}: a model that does not exist")
    def _():
        with refused(errors.ClientError, "404"):
            models.generate_content(model="no-such-model", contents="Hello")


def run(running, given):
    clouds, google = given["clouds"], given["accounts"]["google"]

    def gemini(key, version="v1beta"):
        options = types.HttpOptions(base_url=clouds["gemini"], api_version=version)
        return genai.Client(api_key=key, http_options=options)

    check_gemini(running, "google-genai on the Gemini API", gemini(google["apiKey"]))

    @running.check("google-genai on the Gemini API: a wrong key")
    def _():
        client = gemini("another")
        with refused(errors.ClientError, "API key not valid"):
            client.models.generate_content(model=MODEL, contents="Hello")

    @running.check("google-genai on the Gemini API: the path of version 1")
    def _():
        client = gemini(google["apiKey"], version="v1")
        answer = client.models.generate_content(model=MODEL, contents="Hello")
        equal(answer.text, "You said: Hello")

    def vertex(token, project=google["project"], version=None):
        options = types.HttpOptions(base_url=clouds["vertex"], api_version=version)
        return genai.Client(
            vertexai=True,
            project=project,
            location=google["location"],
            credentials=Credentials(token),
            http_options=options,
        )

    check_gemini(running, "google-genai on Vertex AI", vertex(google["token"]))

    @running.check("google-genai on Vertex AI: the path of version 1")
    def _():
        client = vertex(google["token"], version="v1")
        answer = client.models.generate_content(model=MODEL, contents="Hello")
        equal(answer.text, "You said: Hello")

    @running.check("google-genai on Vertex AI: a project of somebody else")
    def _():
        client = vertex(google["token"], project="p2")
        with refused(errors.ClientError, "PERMISSION_DENIED"):
            client.models.generate_content(model=MODEL, contents="Hello")
