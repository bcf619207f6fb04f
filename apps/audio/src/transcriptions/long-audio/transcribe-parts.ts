import { stat } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { TranscriptionInput } from '@gateway/contracts/jobs';
import type { TranscriptFormat } from '@gateway/contracts/openai/transcriptions';
import type { TextChecks } from '@gateway/hooks/text-checks';
import { JOBS } from '@gateway/jobs/catalog';
import type { UploadStore } from '@gateway/jobs/files/upload-store';
import { retryDelayMs } from '@gateway/jobs/worker/retry-policy';
import type { ContentLog } from '@gateway/model-service/content-log/content-log';
import { usageDetail } from '@gateway/model-service/usage-detail';
import { toGatewayError } from '@gateway/service-kit/error-response';
import type { ResolvedModel } from '@gateway/upstream/catalog';
import type { Reply } from '@gateway/upstream/replies/reply';
import type { Upstream } from '@gateway/upstream/upstream';
import { estimateTranscription } from '../../metering/transcription-usage.ts';
import {
  receiveTranscript,
  requestTranscript,
  type WholeTranscript,
} from '../transcript/request-transcript.ts';
import { deltaFrames, doneFrame } from '../transcript/transcript-events.ts';
import {
  type AudioBounds,
  fits,
  incompatibleFormat,
  type TranscriptPlans,
} from '../transcript/transcript-plans.ts';
import type { Transcription, TranscriptionContext } from '../transcript/transcription.ts';
import {
  extractStretches,
  type Ffmpeg,
  findSilences,
  PART_CONTENT_TYPE,
  PART_MAX_BYTES_PER_SECOND,
} from './ffmpeg.ts';
import { findParts } from './find-cuts.ts';
import { type Joined, joinShifted, separatorOf, shiftPart } from './join-transcripts.ts';

/** The settings for recordings that no channel takes whole. */
export interface LongAudio {
  readonly ffmpeg: Ffmpeg;
  /** The longest recording that is split at all. */
  readonly maxSeconds: number;
  /** Parts of one recording that are sent at a time. */
  readonly partsAtOnce: number;
}

export interface TranscribeOptions {
  readonly checks: TextChecks;
  readonly contentLog: ContentLog;
  readonly upstream: Pick<Upstream, 'resolveModel' | 'candidates' | 'send'>;
  readonly uploads: Pick<UploadStore, 'pathOf' | 'newId' | 'delete'>;
  readonly longAudio: LongAudio;
}

interface LongRecording {
  readonly input: TranscriptionInput;
  readonly model: ResolvedModel;
  readonly plans: TranscriptPlans;
  readonly wanted: TranscriptFormat;
  /** Whether the caller gets deltas. */
  readonly streams: boolean;
}

/** A file of one stretch of the recording. */
interface Part {
  readonly uploadId: string;
  readonly start: number;
  readonly end: number;
}

interface DonePart {
  readonly received: WholeTranscript;
  readonly channel: string;
  readonly dropped: readonly string[];
}

/**
 * Transcribes a recording that no channel takes whole: cut where it is silent, its parts side by side, their transcripts
 * joined with the times of the whole. Deltas come in the recording's order, as parts are done.
 *
 * @throws {GatewayError} `file_too_large` without ffmpeg or beyond the longest recording; what a part fails with
 */
export async function transcribeParts(
  options: TranscribeOptions,
  recording: LongRecording,
  context: TranscriptionContext,
): Promise<Transcription> {
  const { uploads, longAudio } = options;
  const { plans, input } = recording;
  const file = { path: uploads.pathOf(input.file.uploadId), contentType: input.file.contentType };
  const { durationSeconds, silences } = await findSilences(longAudio.ffmpeg, file, context.signal);
  if (durationSeconds > longAudio.maxSeconds) throw tooLong(longAudio.maxSeconds);
  const maxSeconds = Math.max(...plans.candidates.map((one) => secondsOfPart(plans.boundsOf(one))));
  const parts = findParts({ durationSeconds, silences, maxSeconds }).map(
    (stretch): Part => ({ ...stretch, uploadId: uploads.newId() }),
  );
  try {
    await extractStretches(longAudio.ffmpeg, file, {
      stretches: parts.map(({ uploadId, ...stretch }) => ({ ...stretch, target: uploads.pathOf(uploadId) })),
      signal: context.signal,
    });
    return await new PartsRun(options, recording, context).run(parts);
  } finally {
    await uploads.delete(...parts.map(({ uploadId }) => uploadId));
  }
}

/** Space for the head of a file. */
const HEAD_BYTES = 16_384;
/** A part is sent in full before it is answered, so parts are shorter than the channels allow. */
const MAX_PART_SECONDS = 1200;

const secondsOfPart = ({ maxFileBytes, maxAudioSeconds }: AudioBounds): number =>
  Math.min(
    maxAudioSeconds ?? MAX_PART_SECONDS,
    maxFileBytes === null ? MAX_PART_SECONDS : (maxFileBytes - HEAD_BYTES) / PART_MAX_BYTES_PER_SECOND,
    MAX_PART_SECONDS,
  );

/** One recording's parts on their way. */
class PartsRun {
  readonly #options: TranscribeOptions;
  readonly #recording: LongRecording;
  readonly #context: TranscriptionContext;
  readonly #failed = new AbortController();
  readonly #done: DonePart[] = [];
  #joined: Joined | null = null;
  #joining: Promise<void> = Promise.resolve();
  #joinedParts = 0;
  #attempts = 0;
  #begunSeconds = 0;

  constructor(options: TranscribeOptions, recording: LongRecording, context: TranscriptionContext) {
    this.#options = options;
    this.#recording = recording;
    this.#context = context;
  }

  async run(parts: readonly Part[]): Promise<Transcription> {
    const waiting = parts.entries();
    const worker = async () => {
      for (const [index, part] of waiting) {
        this.#done[index] = await this.#transcribe(part);
        await this.#joinReady(parts);
      }
    };
    const { partsAtOnce } = this.#options.longAudio;
    const workers = Array.from({ length: Math.min(partsAtOnce, parts.length) }, worker);
    try {
      await Promise.all(workers);
    } catch (error) {
      this.#failed.abort(error);
      await Promise.allSettled(workers);
      throw error;
    }
    return this.#finish(parts);
  }

  async #transcribe(part: Part): Promise<DonePart> {
    const signal = AbortSignal.any([this.#context.signal, this.#failed.signal]);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#request(part, signal);
      } catch (thrown) {
        signal.throwIfAborted();
        const error = toGatewayError(thrown);
        const delayMs = retryDelayMs(error, attempt, JOBS['audio.transcription']);
        // The other parts would be done again with it.
        if (delayMs === undefined) throw new GatewayError(error.code, { ...error.options, retry: false });
        await delay(delayMs, undefined, { signal });
      }
    }
  }

  async #request(part: Part, signal: AbortSignal): Promise<DonePart> {
    const { upstream, uploads } = this.#options;
    const { input, plans } = this.#recording;
    const path = uploads.pathOf(part.uploadId);
    const file = await partFile(path, part, input);
    const candidates = plans.candidates.filter((one) =>
      fits(plans.boundsOf(one), { sizeBytes: file.sizeBytes, durationSeconds: part.end - part.start }),
    );
    const reply = await requestTranscript({
      upstream,
      candidates,
      planOf: (candidate) => ({ ...plans.of(candidate), streams: false }),
      input: { ...input, file },
      path,
      signal,
      trace: this.#context.trace,
      onAttempt: this.#context.onAttempt,
      onDiscarded: (reply) =>
        this.#context.onDiscarded({ ...input, file, durationSeconds: part.end - part.start }, reply),
    });
    this.#count(part, reply);
    const received = await receiveTranscript(reply, {
      requestedFormat: plans.of(reply.candidate).requestedFormat,
    });
    return { received, channel: reply.candidate.channel.name, dropped: reply.dropped };
  }

  /** From its first output on a part may be billed, whatever becomes of the others. */
  #count({ start, end }: Part, { attempts, candidate }: Reply): void {
    const { input, model } = this.#recording;
    this.#attempts += attempts.length;
    this.#begunSeconds += Math.ceil(end - start);
    const estimate = estimateTranscription(model.price, { ...input, durationSeconds: this.#begunSeconds });
    this.#context.consumed({ ...estimate, channel: candidate.channel.name, attempts: this.#attempts });
  }

  /** One at a time, so that what is emitted stays in order. */
  #joinReady(parts: readonly Part[]): Promise<void> {
    this.#joining = this.#joining.then(() => this.#joinNext(parts));
    return this.#joining;
  }

  /** Joins, and emits, what is done in the recording's order. */
  async #joinNext(parts: readonly Part[]): Promise<void> {
    const { wanted, streams } = this.#recording;
    while (true) {
      const index = this.#joinedParts;
      const [part, done] = [parts[index], this.#done[index]];
      if (part === undefined || done === undefined) return;
      this.#joinedParts += 1;
      const before = this.#joined;
      const shifted = shiftPart({ ...part, transcript: done.received.transcript }, before);
      this.#joined = joinShifted(before, shifted, wanted);
      if (!streams) continue;
      if (before === null)
        await this.#context.emit(JSON.stringify({ channel: done.channel, dropped: done.dropped }));
      const lead = before !== null && before.transcript.text !== '' && shifted.transcript.text !== '';
      const frames = deltaFrames(shifted.transcript, wanted, lead ? separatorOf(wanted) : '');
      await this.#context.emit(...frames);
    }
  }

  async #finish(parts: readonly Part[]): Promise<Transcription> {
    const { wanted, streams, plans, model } = this.#recording;
    const [first] = this.#done;
    const end = parts.at(-1)?.end;
    if (this.#joined === null || first === undefined || end === undefined) throw new Error('no parts');
    const { duration } = first.received.transcript;
    const transcript = {
      ...this.#joined.transcript,
      ...(typeof duration === 'number' && { duration: Math.round(end * 1000) / 1000 }),
    };
    if (streams) await this.#context.emit(doneFrame(transcript));
    const isWhole = this.#done.every(({ received }) => received.formats.includes(wanted));
    const needsTimes = wanted === 'verbose_json' || wanted === 'diarized_json';
    const hasTimes = isWhole && (transcript.segments || Array.isArray(this.#joined.transcript.words));
    if (needsTimes && !hasTimes)
      throw incompatibleFormat(model, wanted, this.#recording.input.translates === true);
    const [candidate] = plans.candidates;
    if (candidate === undefined) throw new Error('no candidate');
    const dropped = [...new Set(this.#done.flatMap((part) => part.dropped))];
    return {
      // A requested full format is as it was joined; everything else is rendered from that.
      received: {
        body: needsTimes ? JSON.stringify(transcript) : '',
        formats: needsTimes ? [wanted] : [],
        transcript,
      },
      requested: needsTimes ? wanted : plans.of(candidate).requestedFormat,
      channel: first.channel,
      dropped,
      // Its parts have attempts of their own, side by side.
      detail: usageDetail({ attempts: [], dropped: dropped.join(', ') }),
      // Its stream begins while the other parts are on their way.
      attemptList: undefined,
      attempts: this.#attempts,
      parts: parts.length,
      isEmitted: streams,
      durationSeconds: end,
      billedSeconds: this.#begunSeconds,
    };
  }
}

const tooLong = (maxSeconds: number): GatewayError =>
  new GatewayError('file_too_large', {
    path: ['file'],
    message: `The recording lasts longer than the ${maxSeconds} seconds that are transcribed at once. Send it in several files.`,
  });

/** A part as a file of its own for the upstream's form. */
async function partFile(
  path: string,
  { uploadId }: Part,
  { file }: Pick<TranscriptionInput, 'file'>,
): Promise<TranscriptionInput['file']> {
  const { size } = await stat(path);
  const fileName = `${basename(file.fileName, extname(file.fileName))}.flac`;
  return { uploadId, fileName, contentType: PART_CONTENT_TYPE, sizeBytes: size };
}
