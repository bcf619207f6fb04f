import { z } from 'zod';
import { pngFile, wavFile } from '../support/media-files.ts';
import type { Exchange } from '../wire/exchange.ts';
import {
  connectionFailure,
  type Failure,
  parseJson,
  type Reading,
  readError,
  readWhole,
} from '../wire/replies.ts';
import { eventsOf } from '../wire/streams.ts';
import { createPrng } from './prng.ts';
import type { RequestKind } from './request-kinds.ts';
import { compared, left, type Trip, type TripRequest, unexpected } from './trip.ts';

const b64 = z.string().min(100);
const Images = z
  .looseObject({ created: z.int(), data: z.array(z.looseObject({ b64_json: b64 })).length(1) })
  .transform(({ data }) => data[0]?.b64_json ?? '');
const Transcript = z.looseObject({ text: z.string().min(1) }).transform(({ text }) => text);

const GENERATIONS = '/v1/images/generations';
const picture = (prompt: string) => ({
  model: 'dall-e-2',
  prompt,
  size: '256x256',
  response_format: 'b64_json',
});
const formOf = (parts: Record<string, string | File>): FormData => {
  const form = new FormData();
  for (const [name, value] of Object.entries(parts)) form.append(name, value);
  return form;
};

const isWhole = ({ end, status }: Exchange, expected: number): boolean =>
  end === 'complete' && status === expected;

/** Waits for the answer, and holds it against the reference's. */
function answered(
  { work, service }: Pick<RequestKind, 'work' | 'service'>,
  path: string,
  requestOf: (trip: Trip) => TripRequest,
  schema: z.ZodType<string>,
): RequestKind {
  return {
    work,
    service,
    worker: service === 'image' ? 'image-worker' : 'audio-worker',
    run: async (trip) => {
      const reply = await trip.ask(path, requestOf(trip));
      if (reply.end === 'left') return left;
      const reading = readWhole(reply, schema);
      if (reading.text === null) return reading;
      // A text under the content type of JSON is a transcript, too.
      if (service === 'audio' && trip.mayEndEarly(1)) return left;
      return compared(reading, schema.parse(parseJson(await trip.reference(path, requestOf(trip)))));
    },
  };
}

const imageWork = { work: 'paid', service: 'image' } as const;
const speechWork = { work: 'paid', service: 'audio' } as const;
const transcriptWork = { work: 'free', service: 'audio' } as const;

const PublicJob = z.looseObject({ id: z.string().startsWith('job_'), status: z.string() });
const isJobEnded = (reply: Exchange): boolean => {
  const job = PublicJob.safeParse(parseJson(reply.body));
  return !job.success || !['queued', 'in_progress'].includes(job.data.status);
};

/** 202, polled to its end, its result fetched. */
const polledImage: RequestKind = {
  ...imageWork,
  worker: 'image-worker',
  run: async (trip) => {
    const json = picture(trip.mark(1));
    const taken = await trip.ask(GENERATIONS, { json, headers: { prefer: 'respond-async' } });
    if (!isWhole(taken, 202)) return unexpected(taken);
    const path = taken.headers.location ?? '';
    const ended = await trip.poll(path, isJobEnded);
    if (!isWhole(ended, 200)) return unexpected(ended);
    const result = await trip.poll(`${path}/result`, ({ status }) => status !== 409);
    const reading = readWhole(result, Images);
    if (reading.text === null) return reading;
    return compared(reading, Images.parse(parseJson(await trip.reference(GENERATIONS, { json }))));
  },
};

const cancelledImage: RequestKind = {
  ...imageWork,
  worker: 'image-worker',
  run: async (trip) => {
    const taken = await trip.ask(GENERATIONS, {
      json: picture(trip.mark(1)),
      headers: { prefer: 'respond-async' },
    });
    if (!isWhole(taken, 202)) return unexpected(taken);
    const path = taken.headers.location ?? '';
    const cancelled = await trip.ask(path, { method: 'DELETE' });
    if (!isWhole(cancelled, 200)) return unexpected(cancelled);
    const ended = await trip.poll(path, isJobEnded);
    return isWhole(ended, 200) ? left : unexpected(ended);
  },
};

/** The same request twice at once, and once more: one image for all of them. After a failure it would be another image. */
const repeatedImage: RequestKind = {
  ...imageWork,
  worker: 'image-worker',
  run: async (trip) => {
    const json = picture(trip.mark(1));
    const request = { json, headers: { 'idempotency-key': trip.planned.name } };
    const both = await Promise.all([trip.ask(GENERATIONS, request), trip.ask(GENERATIONS, request)]);
    const third = both.every((reply) => isWhole(reply, 200)) ? [await trip.ask(GENERATIONS, request)] : [];
    const expected = Images.parse(parseJson(await trip.reference(GENERATIONS, { json })));
    const readings = [...both, ...third]
      .filter(({ end }) => end !== 'left')
      .map((reply) => compared(readWhole(reply, Images), expected));
    return {
      text: null,
      failure: readings.find(({ failure }) => failure !== null)?.failure ?? null,
      problems: readings.flatMap(({ problems }) => problems),
    };
  },
};

const coded = z.looseObject({ code: z.string().nullable() });
const BatchLine = z.object({
  custom_id: z.string(),
  /** Null for a line that was never begun, or whose job is not known. */
  response: z.object({ status_code: z.int(), body: z.unknown() }).nullable(),
  error: coded.nullable(),
});
/** A line of which nothing but its error is there counts as gone. */
const NOT_THERE = 404;

function failureOfLine({ response, error }: z.infer<typeof BatchLine>): Failure {
  if (response === null) return { where: 'reply', status: NOT_THERE, code: error?.code ?? 'none' };
  const { code } = z.object({ error: coded }).parse(response.body).error;
  return { where: 'reply', status: response.status_code, code: code ?? 'none' };
}
const LINES = 4;

const batchOfImages: RequestKind = {
  ...imageWork,
  worker: 'image-worker',
  run: async (trip) => {
    const turns = Array.from({ length: LINES }, (_, index) => index + 1);
    const lines = turns.map((turn) => ({
      custom_id: trip.mark(turn),
      method: 'POST',
      url: GENERATIONS,
      body: picture(trip.mark(turn)),
    }));
    const text = lines.map((line) => JSON.stringify(line)).join('\n');
    const taken = await trip.ask('/v1/images/jobs', { text });
    if (!isWhole(taken, 202)) return unexpected(taken);
    const path = taken.headers.location ?? '';
    const ended = await trip.poll(path, isJobEnded);
    if (!isWhole(ended, 200)) return unexpected(ended);
    const result = await trip.poll(`${path}/result`, ({ status }) => status !== 409);
    if (!isWhole(result, 200)) return unexpected(result);
    const told = result.body
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => BatchLine.parse(parseJson(line)));
    const problems: string[] = [];
    let failure: Failure | null = null;
    for (const [index, line] of lines.entries()) {
      const mine = told[index];
      if (mine?.custom_id !== line.custom_id) problems.push(`line ${index} is ${mine?.custom_id}`);
      else if (mine.response?.status_code === 200) {
        const expected = Images.parse(parseJson(await trip.reference(GENERATIONS, { json: line.body })));
        const given = Images.safeParse(mine.response.body);
        if (given.data !== expected) problems.push(`wrong image in line ${index}`);
      } else {
        failure ??= failureOfLine(mine);
      }
    }
    return { text: null, failure, problems };
  },
};

/** Streamed events up to one that ends them; `contentOf` gives the content of an event. */
function streamed(
  reply: Exchange,
  endType: string,
  contentOf: (event: Record<string, unknown>) => string,
): Reading {
  if (reply.end === 'left') return left;
  const lost = connectionFailure(reply);
  if (lost) return lost;
  if (reply.status !== 200) return readError(reply);
  const events = eventsOf(reply.body).events.map(
    ({ json }) => z.looseObject({ type: z.string() }).safeParse(json).data,
  );
  const last = events.at(-1);
  if (last === undefined)
    return { text: null, failure: null, problems: ['a stream without a well-formed end'] };
  if (last.type === endType) return { text: contentOf(last), failure: null, problems: [] };
  const { error } =
    z.object({ error: z.looseObject({ code: z.string().nullish() }) }).safeParse(last).data ?? {};
  const problems = last.type === 'error' && error ? [] : [`the stream ends with ${last.type}`];
  return { text: null, failure: { where: 'stream', status: 200, code: error?.code ?? 'none' }, problems };
}

const member = (name: string) => (event: Record<string, unknown>) => String(event[name]);

const streamedImage: RequestKind = {
  ...imageWork,
  worker: 'image-worker',
  run: async (trip) => {
    const json = {
      model: 'gpt-image-1',
      prompt: trip.mark(1),
      quality: 'low',
      stream: true,
      partial_images: 1,
    };
    const content = member('b64_json');
    const reading = streamed(await trip.ask(GENERATIONS, { json }), 'image_generation.completed', content);
    if (reading.text === null) return reading;
    const events = eventsOf(await trip.reference(GENERATIONS, { json })).events;
    return compared(reading, content(z.looseObject({}).parse(events.at(-1)?.json)));
  },
};

const SPEECH = '/v1/audio/speech';
/** As long as no other's, so that its sound is its own. */
const spoken = (trip: Trip) => ({
  model: 'tts-1',
  voice: 'alloy',
  input: `${trip.mark(1)} ${'la '.repeat(createPrng(trip.mark(1)).between(1, 60))}`,
});

/** Bytes as they come; its whole, or the beginning of it where it broke. */
const speech: RequestKind = {
  ...speechWork,
  worker: null,
  run: async (trip) => {
    const json = spoken(trip);
    const reply = await trip.ask(SPEECH, { json });
    if (reply.end === 'left') return left;
    if (reply.status !== 200) return unexpected(reply);
    const reading: Reading = { ...(connectionFailure(reply) ?? left), text: reply.body.toString('base64') };
    const expected = await trip.reference(SPEECH, { json });
    const { length } = reply.body;
    const isWholeAnswer = reading.failure === null;
    if (isWholeAnswer && trip.mayEndEarly(1)) return left;
    return compared(reading, (isWholeAnswer ? expected : expected.subarray(0, length)).toString('base64'));
  },
};

const recording = (trip: Trip): File => wavFile(createPrng(trip.mark(1)).between(4, 24) / 4);
const TRANSCRIPTIONS = '/v1/audio/transcriptions';
const transcribed =
  (model: string, more: Record<string, string> = {}) =>
  (trip: Trip) => ({
    form: formOf({ model, file: recording(trip), prompt: trip.mark(1), ...more }),
  });

const streamedTranscript: RequestKind = {
  ...transcriptWork,
  worker: 'audio-worker',
  run: async (trip) => {
    const request = transcribed('gpt-4o-transcribe', { stream: 'true' })(trip);
    const content = member('text');
    const reading = streamed(await trip.ask(TRANSCRIPTIONS, request), 'transcript.text.done', content);
    if (reading.text === null) return reading;
    const events = eventsOf(await trip.reference(TRANSCRIPTIONS, request)).events;
    return compared(reading, content(z.looseObject({}).parse(events.at(-1)?.json)));
  },
};

export const MEDIA_KINDS = {
  image: answered(imageWork, GENERATIONS, (trip) => ({ json: picture(trip.mark(1)) }), Images),
  'image edit': answered(
    imageWork,
    '/v1/images/edits',
    (trip) => ({
      form: formOf({ model: 'gpt-image-1', prompt: trip.mark(1), image: pngFile(), quality: 'low' }),
    }),
    Images,
  ),
  'streamed image': streamedImage,
  'polled image': polledImage,
  'cancelled image': cancelledImage,
  'repeated image': repeatedImage,
  'batch of images': batchOfImages,
  speech,
  transcript: answered(transcriptWork, TRANSCRIPTIONS, transcribed('whisper-1'), Transcript),
  'streamed transcript': streamedTranscript,
} as const satisfies Record<string, RequestKind>;
