import * as z from 'zod/mini';
import type { Call, FormPart } from '../exchange/call.ts';
import type { AnswerReader } from '../exchange/exchange.ts';
import { ErrorBody, RelayError, relayGet } from '../exchange/relay.ts';

export interface MadePicture {
  /** A `blob:` URL, until the picture is forgotten. */
  readonly url: string;
  readonly fileName: string;
  /** What the model made of the prompt; null: nothing else. */
  readonly revisedPrompt: string | null;
}

/** A picture that is not finished yet. */
export interface PartialPicture {
  /** A `data:` URL: the next one takes its place soon. */
  readonly url: string;
  /** Of this picture, from 1. */
  readonly number: number;
}

export interface ImagesAnswer {
  readonly pictures: readonly MadePicture[];
  /** The latest of the picture that is being made; null: there is none. */
  readonly partial: PartialPicture | null;
  /** The job that makes them; null: the request waits for them. */
  readonly job: Job | null;
}

export const NO_IMAGES: ImagesAnswer = { pictures: [], partial: null, job: null };

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

const Image = z.object({ b64_json: z.string(), revised_prompt: z.nullish(z.string()) });
const Images = z.object({ output_format: z.optional(z.string()), data: z.array(Image) });

const ImageEvent = z.union([
  z.object({
    ...Image.shape,
    type: z.enum(['image_generation.completed', 'image_edit.completed']),
    output_format: z.optional(z.string()),
  }),
  z.object({
    type: z.enum(['image_generation.partial_image', 'image_edit.partial_image']),
    b64_json: z.string(),
    partial_image_index: z.number(),
    output_format: z.optional(z.string()),
  }),
  ErrorBody,
]);

/** What a person sets for images; undefined: the model's own. */
export interface ImageSettings {
  readonly model: string;
  readonly prompt: string;
  readonly size: string | undefined;
  readonly count: number | undefined;
  readonly quality: string | undefined;
  readonly isJob: boolean;
  /** How many partial images each picture is streamed with; null: it is not streamed. */
  readonly partialImages: number | null;
}

/** A picture to change, and where. */
export interface ImageEdit {
  readonly picture: File;
  /** A PNG of the picture's size, transparent where it is to be changed; null: everywhere. */
  readonly mask: File | null;
}

/** The request for images; the pictures come within the answer, since the page loads nothing from other addresses. */
export function imagesCall(settings: ImageSettings, edit: ImageEdit | null): Call {
  const { model, prompt, size, count, quality, isJob, partialImages } = settings;
  const members = {
    model,
    prompt,
    ...(size !== undefined && { size }),
    ...(count !== undefined && { n: count }),
    ...(quality !== undefined && { quality }),
    response_format: 'b64_json',
    ...(partialImages !== null && { stream: true, partial_images: partialImages }),
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
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) return readStream(response, reader);
  const text = await response.text();
  reader.note('', text);
  if (response.status !== ACCEPTED) return show(text, null, reader);
  const job = Job.parse(JSON.parse(text));
  reader.show({ ...NO_IMAGES, job }, false);
  const ended = await followJob(job, reader);
  // A failed job's result is its error.
  const result = await (await relayGet(`/v1/images/jobs/${job.id}/result`, reader.sender)).text();
  reader.note('result', result);
  show(result, ended, reader);
}

/** Shows each picture of a stream while it is made. @throws {RelayError} for an error within the stream, or where it has no picture */
async function readStream(response: Response, reader: AnswerReader<ImagesAnswer>): Promise<void> {
  const pictures: MadePicture[] = [];
  for await (const { data } of reader.events(response)) {
    if (data === '[DONE]') continue;
    const { data: event } = ImageEvent.safeParse(JSON.parse(data));
    if (event === undefined) continue;
    if ('error' in event) {
      const { message, code, type } = event.error;
      throw new RelayError(message, { status: response.status, code: code ?? type ?? null, requestId: null });
    }
    const { output_format: format = DEFAULT_FORMAT } = event;
    if ('partial_image_index' in event) {
      const url = `data:image/${format};base64,${event.b64_json}`;
      const partial = { url, number: event.partial_image_index + 1 };
      reader.show({ ...NO_IMAGES, pictures: [...pictures], partial }, true);
    } else {
      pictures.push(pictureOf(event, pictures.length + 1, format));
      reader.show({ ...NO_IMAGES, pictures: [...pictures] }, true);
    }
  }
  if (pictures.length === 0) throw noImages(response.status);
}

/** Shows the job's state until it has ended. Its events may break off, as after 20 minutes: then they are read again. */
async function followJob(begun: Job, reader: AnswerReader<ImagesAnswer>): Promise<Job> {
  let job = begun;
  while (!hasEnded(job)) {
    const events = await relayGet(`/v1/images/jobs/${job.id}/events`, reader.sender);
    for await (const { name, data } of reader.events(events)) {
      if (name !== 'status') continue;
      job = Job.parse(JSON.parse(data));
      reader.show({ ...NO_IMAGES, job }, false);
    }
  }
  return job;
}

function show(text: string, job: Job | null, reader: AnswerReader<ImagesAnswer>): void {
  const { data: images } = Images.safeParse(JSON.parse(text));
  if (images === undefined) throw noImages(200);
  const { output_format: format = DEFAULT_FORMAT } = images;
  const pictures = images.data.map((image, at) => pictureOf(image, at + 1, format));
  reader.show({ pictures, partial: null, job }, true);
}

const DEFAULT_FORMAT = 'png';

const pictureOf = (
  { b64_json, revised_prompt }: z.infer<typeof Image>,
  number: number,
  format: string,
): MadePicture => ({
  url: URL.createObjectURL(new Blob([bytesOf(b64_json)], { type: `image/${format}` })),
  fileName: `image-${number}.${format}`,
  revisedPrompt: revised_prompt ?? null,
});

const noImages = (status: number): RelayError =>
  new RelayError('The answer contains no images.', { status, code: null, requestId: null });

/** @throws {DOMException} for a text that is no base64 */
const bytesOf = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
