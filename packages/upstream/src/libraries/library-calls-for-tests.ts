import { onTestFinished } from 'vitest';
import { parseConfiguration } from '../configuration/parse-configuration.ts';
import type { Operation, Protocol } from '../protocol.ts';
import type { Reply } from '../replies/reply.ts';
import { type MultipartPart, multipartBody } from '../requests/multipart-body.ts';
import type { UpstreamRequest } from '../requests/upstream-request.ts';
import type { SendOptions } from '../sending/send.ts';
import { createUpstream, type Upstream } from '../upstream.ts';
import type { LibraryName } from './libraries.ts';

const BASE_PATHS: Readonly<Record<LibraryName, string>> = {
  elevenlabs: '',
  deepgram: '',
  assemblyai: '',
  google: '/v1beta',
  vertex: '',
  bedrock: '',
  'black-forest-labs': '/v1',
  fal: '',
  replicate: '/v1',
};

const KIND_OF: Readonly<Record<string, string>> = {
  images: 'image',
  speech: 'speech',
  transcriptions: 'transcription',
};

/** A channel of a library and its model. */
export interface LibraryChannel {
  readonly library: LibraryName;
  readonly protocol: Extract<Protocol, 'images' | 'speech' | 'transcriptions'>;
  readonly model: string;
  readonly origin: string;
  readonly settings?: string;
}

/** An upstream whose model `m` is served by these, in this order. */
export function upstreamOf(libraryChannels: readonly LibraryChannel[]): Upstream {
  const channels = libraryChannels.map(
    ({ library, origin, settings = '' }, index) =>
      `  c${index}: { provider: ${library}, baseUrl: "${origin}${BASE_PATHS[library]}", apiKey: sk-secret-of-${library}, ${settings} }`,
  );
  const routes = libraryChannels.map(
    ({ model }, index) => `{ channel: c${index}, model: "${model}", priority: ${index} }`,
  );
  const kind = KIND_OF[libraryChannels[0]?.protocol ?? ''];
  const text = ['channels:', ...channels, 'models:', `  m: { kind: ${kind}, routes: [${routes}] }`].join(
    '\n',
  );
  const upstream = createUpstream({ configuration: parseConfiguration(text, 'gateway.yaml', {}) });
  onTestFinished(() => upstream.destroy());
  return upstream;
}

export type Body = Readonly<Record<string, unknown>> | readonly MultipartPart[];
const isForm = (body: Body): body is readonly MultipartPart[] => Array.isArray(body);

export function requestOf(operation: Operation, body: Body, strict = false): UpstreamRequest {
  const request = { operation, method: 'POST', strict } as const;
  if (!isForm(body))
    return { ...request, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const form = multipartBody(body);
  return { ...request, headers: { 'content-type': form.contentType }, body: form };
}

export function send(
  upstream: Upstream,
  request: UpstreamRequest,
  { protocol, ...more }: Pick<LibraryChannel, 'protocol'> & Partial<SendOptions>,
): Promise<Reply> {
  const model = upstream.resolveModel('m');
  if (model === null) throw new Error('no model');
  return upstream.send({
    candidates: upstream.candidates({ model, protocol }),
    request: () => request,
    dialect: 'openai',
    work: protocol === 'transcriptions' ? 'free' : 'paid',
    streamed: false,
    ...more,
  });
}
