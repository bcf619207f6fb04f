import * as z from 'zod/mini';
import type { Call, FormPart } from '../exchange/call.ts';
import type { AnswerReader } from '../exchange/exchange.ts';
import { RelayError, relayGet } from '../exchange/relay.ts';

export interface MadePicture {
  /** A `blob:` URL, until the picture is forgotten. */
  readonly url: string;
  readonly fileName: string;
  /** What the model made of the prompt; null: nothing else. */
  readonly revisedPrompt: string | null;
}

export interface ImagesAnswer {
  readonly pictures: readonly MadePicture[];
  /** The job that makes them; null: the request waits for them. */
  readonly job: Job | null;
}

export const NO_IMAGES: ImagesAnswer = { pictures: [], job: null };

export const forgetImages = ({ pictures }: ImagesAnswer): void => {
  for (const { url } of pictures) URL.revokeObjectURL(url);
};

const Job = z.object({
  id: z.string(),
  status: z.enum(['queued', 'in_progress', 'completed', 'failed', 'cancelled']),
  position: z.nullish(z.number()),
  progress: z.nullish(z.number()),
});
type Job = z.infer<typeof Job>;

const ENDS: readonly Job['status'][] = ['completed', 'failed', 'cancelled'];

export const hasEnded = ({ status }: Job): boolean => ENDS.includes(status);

const Images = z.object({
  output_format: z.optional(z.string()),
  data: z.array(z.object({ b64_json: z.string(), revised_prompt: z.nullish(z.string()) })),
});

/** What a person sets for images; undefined: the model's own. */
export interface ImageSettings {
  readonly model: string;
  readonly prompt: string;
  readonly size: string | undefined;
  readonly count: number | undefined;
  readonly quality: string | undefined;
  readonly isJob: boolean;
}

/** A picture to change, and where. */
export interface ImageEdit {
  readonly picture: File;
  /** A PNG of the picture's size, transparent where it is to be changed; null: everywhere. */
  readonly mask: File | null;
}

/** The request for images; the pictures come within the answer, since the page loads nothing from other addresses. */
export function imagesCall(settings: ImageSettings, edit: ImageEdit | null): Call {
  const { model, prompt, size, count, quality, isJob } = settings;
  const members = {
    model,
    prompt,
    ...(size !== undefined && { size }),
    ...(count !== undefined && { n: count }),
    ...(quality !== undefined && { quality }),
    response_format: 'b64_json',
  };
  if (edit === null) return { path: '/v1/images/generations', body: { kind: 'json', json: members }, isJob };
  const parts: FormPart[] = Object.entries(members).map(([name, value]) => [name, String(value)]);
  parts.push(['image', edit.picture]);
  if (edit.mask !== null) parts.push(['mask', edit.mask]);
  return { path: '/v1/images/edits', body: { kind: 'form', parts }, isJob };
}

const ACCEPTED = 202;

/** Reads the images of an answer; of a job when it has ended. @throws {RelayError} where there are none */
export async function readImages(response: Response, reader: AnswerReader<ImagesAnswer>): Promise<void> {
  const text = await response.text();
  reader.note('', text);
  if (response.status !== ACCEPTED) return show(text, null, reader);
  const job = Job.parse(JSON.parse(text));
  reader.show({ pictures: [], job }, false);
  const ended = await followJob(job, reader);
  // A failed job's result is its error.
  const result = await (await relayGet(`/v1/images/jobs/${job.id}/result`, reader.sender)).text();
  reader.note('result', result);
  show(result, ended, reader);
}

/** Shows the job's state until it has ended. Its events may break off, as after 20 minutes: then they are read again. */
async function followJob(begun: Job, reader: AnswerReader<ImagesAnswer>): Promise<Job> {
  let job = begun;
  while (!hasEnded(job)) {
    const events = await relayGet(`/v1/images/jobs/${job.id}/events`, reader.sender);
    for await (const { name, data } of reader.events(events)) {
      if (name !== 'status') continue;
      job = Job.parse(JSON.parse(data));
      reader.show({ pictures: [], job }, false);
    }
  }
  return job;
}

function show(text: string, job: Job | null, reader: AnswerReader<ImagesAnswer>): void {
  const { data: images } = Images.safeParse(JSON.parse(text));
  if (images === undefined)
    throw new RelayError('The answer contains no images.', { status: 200, code: null, requestId: null });
  const format = images.output_format ?? 'png';
  const pictures = images.data.map(({ b64_json, revised_prompt }, at) => ({
    url: URL.createObjectURL(new Blob([bytesOf(b64_json)], { type: `image/${format}` })),
    fileName: `image-${at + 1}.${format}`,
    revisedPrompt: revised_prompt ?? null,
  }));
  reader.show({ pictures, job }, true);
}

/** @throws {DOMException} for a text that is no base64 */
const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
