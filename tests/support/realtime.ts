import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import { connectSocket, type SocketEvent, type TestSocket } from '@gateway/testkit/connect-socket';
import { makeAuthority } from '@gateway/testkit/make-authority';
import { waitFor } from '@gateway/testkit/wait-for';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { askAdmin, createKey, type MadeKey } from './admin-keys.ts';
import type { Gateway } from './start-gateway.ts';

/** What a million tokens cost, in US dollars: different for each kind, so that none can pass for another. */
export const PRICE = {
  inputPerMTok: 4,
  cachedInputPerMTok: 0.5,
  outputPerMTok: 16,
  audioInputPerMTok: 32,
  cachedAudioInputPerMTok: 0.25,
  imageInputPerMTok: 6,
  cachedImageInputPerMTok: 0.75,
  audioOutputPerMTok: 64,
};

export const REALTIME = (origin: string): string => `
channels:
  first: { provider: simulator, baseUrl: "${origin}", apiKey: sk-provider-secret }
  second: { provider: openai-compatible, baseUrl: "${origin}/v1", apiKey: sk-second, speaks: [realtime] }
  refusing: { provider: simulator, baseUrl: "${origin}", apiKey: sk-invalid-key }
models:
  gpt-realtime: { kind: realtime, price: ${JSON.stringify(PRICE)}, routes: [{ channel: first }] }
  renamed: { kind: realtime, price: ${JSON.stringify(PRICE)}, routes: [{ channel: first, model: gpt-realtime-2 }] }
  two-channels: { kind: realtime, routes: [{ channel: refusing }, { channel: second, priority: 1, model: other-name }] }
  whisper-1: { kind: transcription, price: { perMinute: 0.6 }, routes: [{ channel: first }] }
  scribe: { kind: transcription, price: { inputPerMTok: 6, outputPerMTok: 10 }, routes: [{ channel: first, model: gpt-4o-transcribe }] }
  elsewhere: { kind: transcription, routes: [{ channel: second, speaks: [transcriptions] }] }
  gpt-5.2: { kind: text, routes: [{ channel: first }] }
  guarded: { kind: realtime, routes: [{ channel: first, model: gpt-realtime }] }
  watched: { kind: realtime, routes: [{ channel: first, model: gpt-realtime }] }
hooks:
  guard: { kind: generic, baseUrl: "http://127.0.0.1:9", rules: [{ models: [guarded] }] }
  watch: { kind: generic, baseUrl: "http://127.0.0.1:9", onFailure: pass, rules: [{ models: [watched] }] }
`;

export const CREATE = { type: 'response.create' };

/** A tenth of a second of sound, and of silence. */
export const SOUND = Buffer.alloc(4800, 7).toString('base64');
export const SILENCE = Buffer.alloc(4800).toString('base64');
export const speak = (audio: string) => ({ type: 'input_audio_buffer.append', audio });

export interface RealtimeCaller extends TestSocket, MadeKey {
  /** The first event of this type that was not returned before. */
  next(type: string): Promise<SocketEvent>;
}

/** Opens a session with a key of its own. */
export async function callRealtime(
  gateway: Pick<Gateway, 'url' | 'stack'>,
  { model = 'gpt-realtime', key, ...body }: { model?: string; key?: MadeKey } & Record<string, unknown> = {},
): Promise<RealtimeCaller> {
  const made = key ?? (await createKey(gateway.stack, { name: 'caller', ...body }));
  const socket = await connectSocket(`${gateway.url}/v1/realtime?model=${model}`, {
    authorization: `Bearer ${made.key}`,
  });
  const given = new Set<SocketEvent>();
  const next = (type: string) =>
    waitFor(
      () => {
        const event = socket.events.find((one) => one.type === type && !given.has(one));
        if (event !== undefined) given.add(event);
        return event;
      },
      { what: `${type} after ${JSON.stringify(socket.events.map((event) => event.type))}` },
    );
  return Object.assign(socket, made, { next });
}

/** TLS before a gateway, which OpenAI's realtime clients insist on. */
export async function startTlsFront(gatewayUrl: string) {
  await using authority = await makeAuthority(['127.0.0.1']);
  const { key, cert, file } = authority;
  const ca = await readFile(file, 'utf8');
  const { port, hostname } = new URL(gatewayUrl);
  const open = new Set<TLSSocket>();
  const server = createServer({ key, cert }, (caller) => {
    const inner = connect(Number(port), hostname);
    open.add(caller);
    for (const socket of [caller, inner]) socket.on('error', () => socket.destroy());
    caller.once('close', () => open.delete(caller) && inner.destroy());
    inner.once('close', () => caller.destroySoon());
    caller.pipe(inner).pipe(caller);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address() as AddressInfo;
  /** What a browser has that trusts the authority. */
  class BrowserSocket extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols, { ca, origin: 'https://app.example' });
    }
  }
  return {
    ca,
    baseURL: `https://127.0.0.1:${address.port}/v1`,
    BrowserSocket,
    close: () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

const count = z.int().min(0);
const Line = z.object({
  model: z.string(),
  endpoint: z.string(),
  outcome: z.string(),
  channel: z.string().nullable(),
  estimated: z.boolean(),
  inputTokens: count,
  outputTokens: count,
  audioSeconds: z.number(),
  costMicroUsd: count.nullable(),
});
export type RealtimeLine = z.infer<typeof Line>;

/** The usage records of a key, as soon as there are so many; oldest first. */
export const usageOf = (
  { stack }: Pick<Gateway, 'stack'>,
  { id }: Pick<MadeKey, 'id'>,
  records: number,
): Promise<RealtimeLine[]> =>
  waitFor(
    async () => {
      const path = `/admin/v1/usage/records?format=ndjson&keyId=${id}`;
      const text = await (await askAdmin(stack, 'GET', path)).text();
      const lines = text.split('\n').filter((line) => line !== '');
      return lines.length >= records ? lines.map((line) => Line.parse(JSON.parse(line))) : undefined;
    },
    { what: `${records} usage records` },
  );

const Usage = z.object({
  input_tokens: count,
  output_tokens: count,
  input_token_details: z.object({
    audio_tokens: count,
    image_tokens: count,
    cached_tokens: count,
    cached_tokens_details: z.object({ audio_tokens: count, text_tokens: count, image_tokens: count }),
  }),
  output_token_details: z.object({ audio_tokens: count }),
});

/** What a `response.done` costs by the price list. */
export function costOf({ response }: SocketEvent): number {
  const { usage } = z.object({ usage: Usage }).parse(response);
  const { audio_tokens: audio, image_tokens: images } = usage.input_token_details;
  const { cached_tokens_details: cached } = usage.input_token_details;
  const { audio_tokens: spoken } = usage.output_token_details;
  const text = usage.input_tokens - audio - images - cached.text_tokens;
  return Math.round(
    text * PRICE.inputPerMTok +
      cached.text_tokens * PRICE.cachedInputPerMTok +
      (audio - cached.audio_tokens) * PRICE.audioInputPerMTok +
      cached.audio_tokens * PRICE.cachedAudioInputPerMTok +
      (images - cached.image_tokens) * PRICE.imageInputPerMTok +
      cached.image_tokens * PRICE.cachedImageInputPerMTok +
      (usage.output_tokens - spoken) * PRICE.outputPerMTok +
      spoken * PRICE.audioOutputPerMTok,
  );
}
