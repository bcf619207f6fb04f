import { openHooks } from '@gateway/hooks/open-hooks';
import { createTextChecks } from '@gateway/hooks/text-checks';
import { batchProcessors } from '@gateway/model-service/batch/open-batch-runner';
import type { StoreLocation } from '@gateway/model-service/testing/media-options';
import { startMedia } from '@gateway/model-service/testing/start-media';
import { createMetrics } from '@gateway/service-kit/metrics';
import { DIRECT } from '@gateway/upstream/connecting/network';
import type { NamedFetching } from '@gateway/upstream/fetching/fetch-named';
import OpenAI from 'openai';
import { createImageService } from '../app.ts';
import { imageBatches } from '../handlers/image-batches.ts';
import { imageProcessors } from '../making/make-images.ts';

/** Channels to the stand-in provider, under keys of their own. */
export const configurationText = (url: string) => `
channels:
  one: { provider: simulator, baseUrl: "${url}", apiKey: sk-one }
  two: { provider: simulator, baseUrl: "${url}", apiKey: sk-two }
  flux: { provider: black-forest-labs, baseUrl: "${url}/v1", apiKey: sk-secret-of-black-forest-labs }
  google: { provider: google, baseUrl: "${url}/v1beta", apiKey: sk-secret-of-google }
models:
  flux-task: { kind: image, price: { perImage: 0.04 }, routes: [{ channel: flux, model: flux-pro-1.1 }] }
  nano-banana: { kind: image, price: { inputPerMTok: 0.3, outputPerMTok: 30 }, routes: [{ channel: google, model: gemini-2.5-flash-image }] }
  dall-e-2: { kind: image, price: { perImage: { 256x256: 0.016, 512x512: 0.018, 1024x1024: 0.02 } }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  dall-e-3: { kind: image, price: { perImage: { standard: 0.04, hd: 0.08 } }, routes: [{ channel: one }, { channel: two, priority: 1 }] }
  "gpt-image-*": { kind: image, price: { inputPerMTok: 5, outputPerMTok: 40 }, routes: [{ channel: one }] }
  chatgpt-image-latest: { kind: image, routes: [{ channel: one }] }
  old-name: { kind: image, family: dall-e-3, routes: [{ channel: one, model: gpt-image-2 }] }
  my-deployment: { kind: image, family: dall-e-3, routes: [{ channel: one, model: painter }] }
  named-freely: { kind: image, routes: [{ channel: one, model: gpt-image-1.5 }] }
  flux-pro: { kind: image, routes: [{ channel: one }] }
  keeps-transparent:
    kind: image
    family: gpt-image
    routes: [{ channel: one, model: gpt-image-1.5, maskTransparent: preserve }]
  own-rules:
    kind: image
    family: { sizes: [64x64], qualities: [rough], promptMaxChars: 10, maxN: 2, maxInputImages: 2, defaultResponseFormat: b64_json, acceptsResponseFormat: false }
    routes: [{ channel: one }]
  chat-model: { kind: text, routes: [{ channel: one }] }
`;

interface StartOptions {
  readonly maxWaiting?: number;
  readonly jsonMaxBytes?: number;
  readonly fetching?: NamedFetching;
  readonly keepAliveMs?: number;
  readonly configuration?: typeof configurationText;
  /** Where jobs' files lie, if not in the data folder. */
  readonly files?: StoreLocation;
}

const NO_FETCHING: NamedFetching = { privateOrigins: [], timeoutMs: 10_000, network: () => DIRECT };

export type TestImage = Awaited<ReturnType<typeof startImage>>;

/** The image service and, if wanted, its worker, in this process, before a stand-in provider and a real Redis. */
export async function startImage({
  maxWaiting = 1000,
  jsonMaxBytes = 1_000_000,
  fetching = NO_FETCHING,
  files = {},
  keepAliveMs = 0,
  configuration = configurationText,
}: StartOptions = {}) {
  const settings = { jsonMaxBytes, editJsonMaxBytes: 4_000_000, fetching, maxJsonDepth: 128, keepAliveMs };
  const hooks = openHooks({
    metrics: createMetrics('hooks'),
    onProblem: () => undefined,
    onReported: () => undefined,
  });
  const media = await startMedia({
    name: 'image',
    kinds: ['image.generation', 'image.edit', 'image.batch'],
    maxWaiting,
    files,
    configuration,
    service: (parts) => createImageService({ ...parts, ...settings }),
    batchProcessors: (parts) => batchProcessors(imageBatches({ ...parts, ...settings })),
    processors: (parts) =>
      imageProcessors({
        ...parts,
        checks: createTextChecks({
          hooks,
          configuration: () => parts.upstream.configuration,
          onRefused: () => undefined,
        }),
      }),
  });
  const { url, headersFor } = media;
  return {
    ...media,
    client: new OpenAI({
      apiKey: 'unused',
      baseURL: `${url}/v1`,
      maxRetries: 0,
      defaultHeaders: headersFor(),
    }),
    generate: (body: unknown, init: RequestInit = {}) =>
      fetch(`${url}/v1/images/generations`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headersFor() },
        body: JSON.stringify(body),
        ...init,
      }),
    edit: (parts: Iterable<readonly [string, string | File]>, init: RequestInit = {}) => {
      const body = new FormData();
      for (const [name, value] of parts) body.append(name, value);
      return fetch(`${url}/v1/images/edits`, { method: 'POST', headers: headersFor(), body, ...init });
    },
  };
}
