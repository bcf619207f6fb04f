"""The ordinary clients through a gateway."""

import asyncio
import base64

import anthropic
import cohere
import openai
from by_anthropic import check_messages
from by_openai import HELLO, check_chat, check_responses
from google import genai
from google.genai import errors, types
from pydantic import BaseModel
from running import equal, refused, true

GPT, CLAUDE, VOICE = "gpt-5.2", "claude-sonnet-5-5", "gpt-realtime"
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


class Place(BaseModel):
    city: str


def run(running, given):
    url, key = given["gateway"]["url"], given["gateway"]["key"]

    def by_openai(key, kind=openai.OpenAI):
        return kind(base_url=f"{url}/v1", api_key=key, max_retries=0)

    def by_anthropic(key, kind=anthropic.Anthropic):
        return kind(base_url=url, api_key=key, max_retries=0)

    client = by_openai(key)
    for model in (GPT, CLAUDE):
        check_chat(running, f"OpenAI through the gateway, {model}", client, model)
        check_responses(running, f"OpenAI through the gateway, {model}", client, model)
        check_messages(running, f"Anthropic through the gateway, {model}", by_anthropic(key), model)

    @running.check("OpenAI through the gateway: a call of responses and its result")
    def _():
        tool = {"type": "function", "name": "get_weather", "parameters": WEATHER, "strict": True}
        first = client.responses.create(model=GPT, input="use tool get_weather", tools=[tool])
        [call] = [item for item in first.output if item.type == "function_call"]
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}
        second = client.responses.create(
            model=GPT, input=[result], tools=[tool], previous_response_id=first.id
        )
        equal(second.output_text, "The tool answered: 21 degrees")
        equal(client.responses.retrieve(second.id).output_text, second.output_text)

    @running.check("OpenAI through the gateway: answers that the client parses by a schema")
    def _():
        parsed = client.responses.parse(model=GPT, input="Hello", text_format=Place)
        true(isinstance(parsed.output_parsed, Place), "nothing parsed by responses")
        parsed = client.chat.completions.parse(model=GPT, messages=HELLO, response_format=Place)
        true(isinstance(parsed.choices[0].message.parsed, Place), "nothing parsed by chat")

    @running.check("OpenAI through the gateway: an image")
    def _():
        made = client.images.generate(model="gpt-image-1", prompt="A lighthouse", size="1024x1024")
        picture = base64.b64decode(made.data[0].b64_json)
        true(picture.startswith(b"\x89PNG"), "no PNG")
        edited = client.images.edit(model="gpt-image-1", image=("a.png", picture, "image/png"), prompt="At night")
        true(base64.b64decode(edited.data[0].b64_json).startswith(b"\x89PNG"), "no PNG")

    @running.check("OpenAI through the gateway: speech, and a transcript of it")
    def _():
        speech = client.audio.speech.create(
            model="gpt-4o-mini-tts", voice="alloy", input="Hello to everybody who listens", response_format="wav"
        ).read()
        true(speech.startswith(b"RIFF"), "no WAV")
        transcript = client.audio.transcriptions.create(model="whisper-1", file=("a.wav", speech, "audio/wav"))
        true(transcript.text != "", "no text")
        events = client.audio.transcriptions.create(
            model="gpt-4o-transcribe", file=("a.wav", speech, "audio/wav"), stream=True
        )
        equal([event.type for event in events][-1], "transcript.text.done")

    @running.check("OpenAI through the gateway: speech, streamed into a reader")
    def _():
        made = client.audio.speech.with_streaming_response
        with made.create(model="tts-1", voice="alloy", input="Hello", response_format="mp3") as speech:
            true(sum(len(piece) for piece in speech.iter_bytes()) > 0, "no sound")

    @running.check("OpenAI through the gateway: a completion of a bare prompt, whole and streamed")
    def _():
        order = {"model": GPT, "prompt": "once upon a time", "max_tokens": 20}
        equal(client.completions.create(**order).choices[0].text, "You said: once upon a time")
        chunks = client.completions.create(**order, stream=True)
        equal("".join(chunk.choices[0].text for chunk in chunks), "You said: once upon a time")

    @running.check("OpenAI through the gateway: vectors, the same as base64 and as numbers")
    def _():
        order = {"model": "text-embedding-3-small", "input": ["one text", "another"], "dimensions": 8}
        made = client.embeddings.create(**order)
        equal([len(one.embedding) for one in made.data], [8, 8])
        numbers = client.embeddings.create(**order, encoding_format="float")
        equal([one.embedding for one in numbers.data], [one.embedding for one in made.data])

    @running.check("Google through the gateway: vectors, whole and asynchronously")
    def _():
        google = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=url))
        config = types.EmbedContentConfig(task_type="RETRIEVAL_DOCUMENT", output_dimensionality=8)
        order = {"model": "text-embedding-3-small", "contents": ["one text", "another"], "config": config}
        made = google.models.embed_content(**order)
        equal([len(one.values) for one in made.embeddings], [8, 8])
        again = asyncio.run(google.aio.models.embed_content(**order))
        equal([one.values for one in again.embeddings], [one.values for one in made.embeddings])

    @running.check("Cohere through the gateway: documents by how well they answer, whole and asynchronously, and a wrong key")
    def _():
        documents = ["The canteen opens at eight.", "Keys expire after ninety days.", "Doors have keys."]
        order = {"model": "rerank-v4.0", "query": "when do keys expire", "documents": documents, "top_n": 2}
        sorted_ones = cohere.ClientV2(api_key=key, base_url=url).rerank(**order)
        equal([one.index for one in sorted_ones.results], [1, 2])

        async def ask():
            async with cohere.AsyncClientV2(api_key=key, base_url=url) as other:
                return await other.rerank(**order)

        equal([one.index for one in asyncio.run(ask()).results], [1, 2])
        with refused(cohere.UnauthorizedError):
            cohere.ClientV2(api_key="gw-of-nobody", base_url=url).rerank(**order)

    @running.check("OpenAI through the gateway: a moderation, a translation")
    def _():
        judged = client.moderations.create(input=["Good morning", "I will kill the process"])
        equal([one.flagged for one in judged.results], [False, True])
        speech = client.audio.speech.create(
            model="tts-1", voice="alloy", input="Hello to everybody", response_format="wav"
        ).read()
        english = client.audio.translations.create(model="whisper-1", file=("a.wav", speech, "audio/wav"))
        true(english.text != "", "no text")

    def converse(client):
        with client.realtime.connect(model=VOICE) as connection:
            connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
            item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
            connection.conversation.item.create(item=item)
            connection.response.create()
            words = []
            for event in connection:
                true(event.type != "error", str(event))
                if event.type == "response.output_text.delta":
                    words.append(event.delta)
                if event.type == "response.done":
                    true(event.response.usage.output_tokens > 0, "no usage")
                    break
            equal("".join(words), "It is a simulated voice.")

    def by_voice(key):
        return openai.OpenAI(
            base_url=f"{url}/v1", websocket_base_url=f"{url.replace('http', 'ws', 1)}/v1", api_key=key, max_retries=0
        )

    @running.check("OpenAI through the gateway: a realtime session, by a key and by a client secret")
    def _():
        converse(by_voice(key))
        made = client.realtime.client_secrets.create(
            expires_after={"anchor": "created_at", "seconds": 60}, session={"type": "realtime", "model": VOICE}
        )
        true(made.value.startswith("ek_"), "no client secret")
        converse(by_voice(made.value))

    @running.check("OpenAI through the gateway: realtime sessions, asynchronously, by sound, and one with a wrong key")
    def _():
        async def ask():
            one = openai.AsyncOpenAI(
                base_url=f"{url}/v1", websocket_base_url=f"{url.replace('http', 'ws', 1)}/v1", api_key=key
            )
            async with one.realtime.connect(model=VOICE) as connection:
                for sound in (b"\x07" * 4800, bytes(4800)):
                    await connection.input_audio_buffer.append(audio=base64.b64encode(sound).decode())
                async for event in connection:
                    if event.type == "response.done":
                        true(event.response.usage.input_token_details.audio_tokens > 0, "no sound")
                        break

        asyncio.run(ask())
        try:
            converse(by_voice("gw-of-nobody"))
        except Exception as error:
            true("401" in str(error), str(error))
        else:
            raise AssertionError("a session with a wrong key")

    @running.check("OpenAI and Anthropic through the gateway: the models")
    def _():
        true({GPT, CLAUDE} <= {model.id for model in client.models.list()}, "not all models for OpenAI")
        true({GPT, CLAUDE} <= {model.id for model in by_anthropic(key).models.list()}, "not all for Anthropic")

    @running.check("OpenAI and Anthropic through the gateway: the asynchronous clients")
    def _():
        async def ask():
            async with by_openai(key, openai.AsyncOpenAI) as one, by_anthropic(key, anthropic.AsyncAnthropic) as other:
                response, message = await asyncio.gather(
                    one.responses.create(model=GPT, input="Hello"),
                    other.messages.create(model=CLAUDE, max_tokens=50, messages=HELLO),
                )
            equal(response.output_text, "You said: Hello")
            equal(message.content[0].text, "You said: Hello")

        asyncio.run(ask())

    @running.check("OpenAI through the gateway: a wrong key, an unknown model, a request that is not valid")
    def _():
        with refused(openai.AuthenticationError):
            by_openai("sk-of-nobody").responses.create(model=GPT, input="Hello")
        with refused(openai.NotFoundError, "no-model"):
            client.chat.completions.create(model="no-model", messages=HELLO)
        with refused(openai.BadRequestError, "temperature"):
            client.responses.create(model=GPT, input="Hello", temperature="warm")

    @running.check("Anthropic through the gateway: a wrong key, an unknown model")
    def _():
        with refused(anthropic.AuthenticationError):
            by_anthropic("sk-of-nobody").messages.create(model=CLAUDE, max_tokens=50, messages=HELLO)
        with refused(anthropic.NotFoundError, "no-model"):
            by_anthropic(key).messages.create(model="no-model", max_tokens=50, messages=HELLO)

    def by_google(key):
        return genai.Client(api_key=key, http_options=types.HttpOptions(base_url=url))

    google = by_google(key)
    for model in (GPT, CLAUDE):

        @running.check(f"Google through the gateway, {model}: generate_content and count_tokens")
        def _():
            answer = google.models.generate_content(model=model, contents="Hello")
            equal(answer.text, "You said: Hello")
            counted = google.models.count_tokens(model=model, contents="Hello")
            equal(answer.usage_metadata.prompt_token_count, counted.total_tokens)

        @running.check(f"Google through the gateway, {model}: generate_content_stream")
        def _():
            chunks = list(google.models.generate_content_stream(model=model, contents="Hello there"))
            equal("".join(chunk.text or "" for chunk in chunks), "You said: Hello there")
            equal(chunks[-1].candidates[0].finish_reason, types.FinishReason.STOP)

        @running.check(f"Google through the gateway, {model}: a call that the client answers by itself")
        def _():
            def get_weather(city: str) -> str:
                """The weather in a city."""
                return "21 degrees"

            config = types.GenerateContentConfig(tools=[get_weather])
            answer = google.models.generate_content(model=model, contents="use tool get_weather", config=config)
            # The client says by itself that it is the result.
            equal(answer.text, 'The tool answered: {"result":"21 degrees"}')

        @running.check(f"Google through the gateway, {model}: an answer that the client parses by a schema")
        def _():
            config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Place)
            answer = google.models.generate_content(model=model, contents="Hello", config=config)
            true(isinstance(answer.parsed, Place), "nothing parsed")

    @running.check("Google through the gateway: a chat, the asynchronous client, the models")
    def _():
        chat = google.chats.create(model=CLAUDE)
        equal(chat.send_message("Hello").text, "You said: Hello")
        equal(chat.send_message("Again").text, "You said: Again")

        async def ask():
            answer = await google.aio.models.generate_content(model=CLAUDE, contents="Hello")
            equal(answer.text, "You said: Hello")

        asyncio.run(ask())
        true(f"models/{GPT}" in {model.name for model in google.models.list()}, "not all models for Google")

    @running.check("Google through the gateway: a wrong key, an unknown model")
    def _():
        # It closes its connections when nobody holds it any more.
        nobody = by_google("sk-of-nobody")
        with refused(errors.ClientError, "UNAUTHENTICATED"):
            nobody.models.generate_content(model=GPT, contents="Hello")
        with refused(errors.ClientError, "no-model"):
            google.models.generate_content(model="no-model", contents="Hello")
