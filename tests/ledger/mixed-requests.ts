import type { UsageOutcome } from '@gateway/contracts/usage/usage-record';
import { expect } from 'vitest';
import { pngFile, wavFile } from '../support/media-files.ts';
import { broken, type Caller, leaveStream, leaveWaiting, whole } from './caller.ts';

/** A request, and how it is accounted. `mark` is a text of its own. */
export interface MixedRequest {
  readonly name: string;
  /** The caller's name for it. */
  readonly model: string;
  /** Null: it is refused before anything is begun, and leaves no record. */
  readonly outcome: UsageOutcome | null;
  /** Whether the provider began a reply that did not come to its end. */
  readonly breaksReply?: true;
  readonly send: (caller: Caller, mark: string) => Promise<unknown>;
}

const simulate = (wish: string, mark: string): string => `[[simulate ${wish}]] ${mark}`;
const userMessages = (content: string) => [{ role: 'user' as const, content }];
const formOf = (parts: Record<string, string | File>): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  return form;
};
const everything = async (stream: AsyncIterable<unknown>): Promise<void> => {
  let events = 0;
  for await (const _event of stream) events += 1;
  expect(events).toBeGreaterThan(1);
};

const TEXT: readonly MixedRequest[] = [
  {
    name: 'a response',
    model: 'gpt-5.2',
    outcome: 'ok',
    send: ({ openai }, mark) => openai.responses.create({ model: 'gpt-5.2', input: mark }),
  },
  {
    name: 'a streamed response',
    model: 'gpt-5.2',
    outcome: 'ok',
    send: async ({ openai }, mark) =>
      everything(await openai.responses.create({ model: 'gpt-5.2', input: mark, stream: true })),
  },
  {
    name: 'a response with reasoning, from the cache',
    model: 'gpt-5.2',
    outcome: 'ok',
    send: ({ openai }, mark) =>
      openai.responses.create({
        model: 'gpt-5.2',
        input: simulate('cached-tokens=5 reasoning-tokens=64', mark),
        reasoning: { effort: 'high' },
        max_output_tokens: 400,
      }),
  },
  {
    name: 'a response translated for Messages, streamed',
    model: 'claude',
    outcome: 'ok',
    send: async ({ openai }, mark) =>
      everything(await openai.responses.create({ model: 'claude', input: mark, stream: true })),
  },
  {
    name: 'a response of the second route',
    model: 'twofold',
    outcome: 'ok',
    send: ({ openai }, mark) =>
      openai.responses.create({ model: 'twofold', input: simulate('model=gpt-first status=503', mark) }),
  },
  {
    name: 'a message',
    model: 'claude',
    outcome: 'ok',
    send: ({ anthropic }, mark) =>
      anthropic.messages.create({ model: 'claude', max_tokens: 300, messages: userMessages(mark) }),
  },
  {
    name: 'a streamed message that reads and writes the cache',
    model: 'claude',
    outcome: 'ok',
    send: ({ anthropic }, mark) => {
      const messages = userMessages(simulate('cached-tokens=4 cache-write-tokens=3', mark));
      return anthropic.messages.stream({ model: 'claude', max_tokens: 300, messages }).finalMessage();
    },
  },
  {
    name: 'a message translated for Chat',
    model: 'local',
    outcome: 'ok',
    send: ({ anthropic }, mark) =>
      anthropic.messages.create({ model: 'local', max_tokens: 300, messages: userMessages(mark) }),
  },
  {
    name: 'a streamed message of the second route',
    model: 'twofold',
    outcome: 'ok',
    send: ({ anthropic }, mark) => {
      const messages = userMessages(simulate('model=gpt-first overloaded', mark));
      return anthropic.messages.stream({ model: 'twofold', max_tokens: 300, messages }).finalMessage();
    },
  },
  {
    name: 'a chat completion',
    model: 'local',
    outcome: 'ok',
    send: ({ openai }, mark) =>
      openai.chat.completions.create({ model: 'local', messages: userMessages(mark) }),
  },
  {
    name: 'a streamed chat completion',
    model: 'local',
    outcome: 'ok',
    send: async ({ openai }, mark) =>
      everything(
        await openai.chat.completions.create({
          model: 'local',
          messages: userMessages(mark),
          stream: true,
          stream_options: { include_usage: true },
        }),
      ),
  },
  {
    name: 'a streamed chat completion whose caller does not request its usage',
    model: 'local',
    outcome: 'ok',
    send: async ({ openai }, mark) =>
      everything(
        await openai.chat.completions.create({ model: 'local', messages: userMessages(mark), stream: true }),
      ),
  },
  {
    name: 'a streamed chat completion whose provider does not report its usage',
    model: 'silent',
    outcome: 'ok',
    send: async ({ openai }, mark) => {
      const messages = userMessages(simulate('quirk=no-usage', mark));
      return everything(await openai.chat.completions.create({ model: 'silent', messages, stream: true }));
    },
  },
  {
    name: 'a chat completion translated for Messages',
    model: 'claude',
    outcome: 'ok',
    send: ({ openai }, mark) =>
      openai.chat.completions.create({ model: 'claude', messages: userMessages(mark) }),
  },
  {
    name: 'a response that the provider refuses',
    model: 'gpt-5.2',
    outcome: 'failed',
    send: (caller, mark) =>
      whole(
        caller,
        '/v1/responses',
        { json: { model: 'gpt-5.2', input: simulate('content-policy', mark) } },
        400,
      ),
  },
  {
    name: 'a message that no route can serve',
    model: 'twofold',
    outcome: 'failed',
    send: async ({ anthropic }, mark) => {
      const messages = userMessages(simulate('overloaded', mark));
      await expect(
        anthropic.messages.create({ model: 'twofold', max_tokens: 300, messages }),
      ).rejects.toMatchObject({ status: 529 });
    },
  },
  {
    name: 'a response of an unknown model',
    model: 'nobody-knows',
    outcome: null,
    send: (caller, mark) =>
      whole(caller, '/v1/responses', { json: { model: 'nobody-knows', input: mark } }, 404),
  },
  {
    name: 'a streamed response that is cut',
    model: 'gpt-5.2',
    outcome: 'cut',
    breaksReply: true,
    send: (caller, mark) =>
      broken(caller, '/v1/responses', {
        model: 'gpt-5.2',
        input: simulate('cut-after=6', mark),
        stream: true,
      }),
  },
  {
    name: 'a streamed message that ends with an error',
    model: 'claude',
    outcome: 'cut',
    breaksReply: true,
    send: (caller, mark) => {
      const messages = userMessages(simulate('error-event-after=5', mark));
      return broken(caller, '/v1/messages', { model: 'claude', max_tokens: 300, messages, stream: true });
    },
  },
  {
    name: 'a streamed chat completion whose caller leaves',
    model: 'local',
    outcome: 'left',
    breaksReply: true,
    send: (caller, mark) => {
      const messages = userMessages(simulate('stall-after=3', mark));
      return leaveStream(caller, '/v1/chat/completions', { model: 'local', messages, stream: true });
    },
  },
  {
    name: 'a message whose caller leaves before it comes',
    model: 'claude',
    outcome: 'left',
    breaksReply: true,
    send: (caller, mark) => {
      const messages = userMessages(simulate('slow-first-byte=3600000', mark));
      return leaveWaiting(caller, '/v1/messages', { model: 'claude', max_tokens: 300, messages }, mark);
    },
  },
];

const IMAGES: readonly MixedRequest[] = [
  {
    name: 'an image by URL',
    model: 'dall-e-3',
    outcome: 'ok',
    send: ({ openai }, mark) =>
      openai.images.generate({ model: 'dall-e-3', prompt: mark, response_format: 'url' }),
  },
  {
    name: 'two images as base64',
    model: 'dall-e-2',
    outcome: 'ok',
    send: ({ openai }, mark) =>
      openai.images.generate({
        model: 'dall-e-2',
        prompt: mark,
        n: 2,
        size: '256x256',
        response_format: 'b64_json',
      }),
  },
  {
    name: 'an image of the second route',
    model: 'twofold-image',
    outcome: 'ok',
    send: (caller, mark) => {
      const prompt = simulate('model=image-first status=503', mark);
      const json = { model: 'twofold-image', prompt, size: '256x256' };
      return whole(caller, '/v1/images/generations', { json });
    },
  },
  {
    name: 'an edit',
    model: 'gpt-image-1',
    outcome: 'ok',
    send: ({ openai }, mark) =>
      openai.images.edit({ model: 'gpt-image-1', prompt: mark, image: pngFile(), quality: 'low' }),
  },
  {
    name: 'a streamed image',
    model: 'gpt-image-1',
    outcome: 'ok',
    send: async ({ openai }, mark) =>
      everything(
        await openai.images.generate({
          model: 'gpt-image-1',
          prompt: mark,
          quality: 'low',
          stream: true,
          partial_images: 1,
        }),
      ),
  },
  {
    name: 'an image whose caller leaves while it is made',
    model: 'dall-e-3',
    outcome: 'cancelled',
    breaksReply: true,
    send: (caller, mark) => {
      const json = { model: 'dall-e-3', prompt: simulate('slow-first-byte=3600000', mark) };
      return leaveWaiting(caller, '/v1/images/generations', json, mark);
    },
  },
];

const SPEECH = { model: 'tts-1', voice: 'alloy' } as const;

const AUDIO: readonly MixedRequest[] = [
  {
    name: 'speech',
    model: 'tts-1',
    outcome: 'ok',
    send: async ({ openai }, mark) =>
      (await openai.audio.speech.create({ ...SPEECH, input: `Good morning, ${mark}.` })).bytes(),
  },
  {
    name: 'speech as events, paid by tokens',
    model: 'gpt-4o-mini-tts',
    outcome: 'ok',
    send: (caller, mark) =>
      whole(caller, '/v1/audio/speech', {
        json: { model: 'gpt-4o-mini-tts', voice: 'coral', input: mark, stream_format: 'sse' },
      }),
  },
  {
    name: 'speech whose caller leaves',
    model: 'tts-1',
    outcome: 'left',
    breaksReply: true,
    send: (caller, mark) =>
      leaveStream(caller, '/v1/audio/speech', {
        ...SPEECH,
        input: simulate('stall-after=2', `${mark}, hello to all of you out there, and to the others too.`),
      }),
  },
  {
    name: 'a transcript with its segments',
    model: 'whisper-1',
    outcome: 'ok',
    send: ({ openai }) =>
      openai.audio.transcriptions.create({
        model: 'whisper-1',
        file: wavFile(2.5),
        response_format: 'verbose_json',
      }),
  },
  {
    name: 'a streamed transcript, paid by tokens',
    model: 'gpt-4o-transcribe',
    outcome: 'ok',
    send: async ({ openai }) =>
      everything(
        await openai.audio.transcriptions.create({
          model: 'gpt-4o-transcribe',
          file: wavFile(3),
          stream: true,
        }),
      ),
  },
  {
    name: 'a transcript that the provider refuses',
    model: 'whisper-1',
    outcome: 'failed',
    send: (caller, mark) =>
      whole(
        caller,
        '/v1/audio/transcriptions',
        {
          body: formOf({ model: 'whisper-1', file: wavFile(1), prompt: simulate('content-policy', mark) }),
        },
        400,
      ),
  },
];

/** Thirty-two kinds. */
export const MIXED_REQUESTS: readonly MixedRequest[] = [...TEXT, ...IMAGES, ...AUDIO];
