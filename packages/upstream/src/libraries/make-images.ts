import { readFile } from 'node:fs/promises';
import type { ImageModelV4 } from '@ai-sdk/provider';
import type { ImageAbilities } from './library.ts';
import { isRefused } from './library-error.ts';
import type { LibraryAnswer, LibraryCall, MediaRequest } from './media-request.ts';
import { ratioOf, sizeOf } from './ratio.ts';

type Generated = Awaited<ReturnType<ImageModelV4['doGenerate']>>;
type InputFile = NonNullable<Parameters<ImageModelV4['doGenerate']>[0]['files']>[number];

/**
 * Images in the protocol's reply. More than a provider makes at once are made by calls side by side; those that
 * succeed are answered with, since they are paid.
 */
export async function makeImages(
  model: ImageModelV4,
  abilities: ImageAbilities,
  { members, files, timeoutMs, signal }: LibraryCall,
): Promise<LibraryAnswer> {
  const wanted = Math.max(1, Number(members.n) || 1);
  const { images, mask } = await inputsOf(files);
  const facts = { members, inputImages: images.length, timeoutMs };
  const options = {
    prompt: String(members.prompt ?? ''),
    size: abilities.sizes ? (sizeOf(members.size) ?? undefined) : undefined,
    aspectRatio: (abilities.ratios && ratioOf(members.size, abilities.ratios)?.ratio) ?? undefined,
    seed: Number.isInteger(Number(members.seed ?? Number.NaN)) ? Number(members.seed) : undefined,
    files: images.length > 0 ? images : undefined,
    mask,
    providerOptions: abilities.options?.(facts) ?? {},
    abortSignal: signal,
  };
  const counts = countsOf(wanted, abilities.imagesPerCall);
  const calls = await Promise.allSettled(counts.map(async (n) => model.doGenerate({ ...options, n })));
  const done = calls.flatMap((call) => (call.status === 'fulfilled' ? [call.value] : []));
  const data = done.flatMap((result) => result.images.map((image) => ({ b64_json: base64Of(image) })));
  if (data.length > 0) return json({ data, ...usageOf(done) });
  const failures = calls.flatMap((call): unknown[] => (call.status === 'rejected' ? [call.reason] : []));
  // One that may have been carried out counts before those that certainly were not.
  throw failures.find((error) => !isRefused(error)) ?? failures[0] ?? new Error('the provider made no image');
}

/** So many images in calls of at most so many. */
const countsOf = (wanted: number, perCall: number): number[] =>
  Array.from({ length: Math.ceil(wanted / perCall) }, (_, index) =>
    Math.min(perCall, wanted - index * perCall),
  );

async function inputsOf(
  files: MediaRequest['files'],
): Promise<{ images: InputFile[]; mask: InputFile | undefined }> {
  const images: InputFile[] = [];
  let mask: InputFile | undefined;
  for (const { name, path, contentType } of files) {
    const file: InputFile = { type: 'file', mediaType: contentType, data: await readFile(path) };
    if (name === 'mask') mask = file;
    else images.push(file);
  }
  return { images, mask };
}

const base64Of = (image: string | Uint8Array): string =>
  typeof image === 'string' ? image : Buffer.from(image).toString('base64');

/** Only where every call reports its tokens. */
function usageOf(results: readonly Generated[]) {
  const sum = (name: 'inputTokens' | 'outputTokens'): number =>
    results.reduce((total, { usage }) => total + (usage?.[name] ?? Number.NaN), 0);
  const [input_tokens, output_tokens] = [sum('inputTokens'), sum('outputTokens')];
  if (Number.isNaN(input_tokens + output_tokens)) return {};
  return { usage: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens } };
}

const json = (value: unknown): LibraryAnswer => ({
  contentType: 'application/json',
  body: Buffer.from(JSON.stringify(value)),
});
