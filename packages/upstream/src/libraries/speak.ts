import type { SpeechModelV4 } from '@ai-sdk/provider';
import { dataFrame } from '@gateway/contracts/event-stream/sse-frames';
import { DEFAULT_SPEECH_FORMAT, SPEECH_CONTENT_TYPES, SpeechFormat } from '@gateway/contracts/openai/speech';
import { z } from 'zod';
import type { SpeechAbilities } from './library.ts';
import { type LibraryAnswer, type LibraryCall, voiceOf } from './media-request.ts';

/**
 * Speech as raw audio; as events where the provider reports its tokens, which raw audio cannot hold.
 *
 * @throws {Error} for an answer without sound
 */
export async function speak(
  model: SpeechModelV4,
  abilities: SpeechAbilities,
  { members, signal, timeoutMs }: LibraryCall,
): Promise<LibraryAnswer> {
  const format = SpeechFormat.catch(DEFAULT_SPEECH_FORMAT).parse(members.response_format);
  const { speed, instructions } = members;
  const takes = (name: string): boolean => abilities.takes.includes(name);
  const outputFormat = abilities.formats[format];
  const result = await model.doGenerate({
    text: String(members.input ?? ''),
    voice: voiceOf(members),
    ...(outputFormat !== undefined && { outputFormat }),
    ...(takes('speed') && typeof speed === 'number' && { speed }),
    ...(takes('instructions') && typeof instructions === 'string' && { instructions }),
    providerOptions: abilities.options?.({ members, inputImages: 0, timeoutMs }) ?? {},
    abortSignal: signal,
  });
  const sound =
    typeof result.audio === 'string' ? Buffer.from(result.audio, 'base64') : Buffer.from(result.audio);
  if (sound.length === 0) throw new Error('the provider answered without sound');
  const body = format === 'wav' && abilities.wavFromPcm ? asWav(sound) : sound;
  const tokens = Tokens.safeParse(result.usage).data;
  if (tokens === undefined) return { contentType: SPEECH_CONTENT_TYPES[format], body };
  return { contentType: 'text/event-stream', body: asEvents(body, tokens) };
}

const count = z.int().min(0);
/** As Gemini counts. */
const Tokens = z
  .object({ promptTokenCount: count, candidatesTokenCount: count })
  .transform(({ promptTokenCount: input_tokens, candidatesTokenCount: output_tokens }) => ({
    input_tokens,
    output_tokens,
    total_tokens: input_tokens + output_tokens,
  }));

/** Divisible by three, so that the events' base64 joined is that of the whole. */
const EVENT_BYTES = 48 * 1024;

function asEvents(sound: Buffer, usage: z.infer<typeof Tokens>): Buffer {
  const frames: string[] = [];
  for (let at = 0; at < sound.length; at += EVENT_BYTES) {
    const audio = sound.toString('base64', at, Math.min(at + EVENT_BYTES, sound.length));
    frames.push(dataFrame({ type: 'speech.audio.delta', audio }));
  }
  frames.push(dataFrame({ type: 'speech.audio.done', usage }));
  return Buffer.from(frames.join(''));
}

const WAV_HEAD_BYTES = 44;
const PCM_RATE = 24_000;
const PCM_SAMPLE_BYTES = 2;

/** PCM of 24 kHz, 16 bit, mono, in its container. */
function asWav(pcm: Buffer): Buffer {
  const head = Buffer.alloc(WAV_HEAD_BYTES);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(WAV_HEAD_BYTES - 8 + pcm.length, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(PCM_RATE, 24);
  head.writeUInt32LE(PCM_RATE * PCM_SAMPLE_BYTES, 28);
  head.writeUInt16LE(PCM_SAMPLE_BYTES, 32);
  head.writeUInt16LE(PCM_SAMPLE_BYTES * 8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(pcm.length, 40);
  return Buffer.concat([head, pcm]);
}
