import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { Started } from '@gateway/service-kit/start-service';
import { z } from 'zod';
import { audioActs } from './audio-acts.ts';
import type { AudioWorkerSettings } from './config.ts';
import type { LongAudio } from './transcriptions/long-audio/transcribe-parts.ts';

/** What the log line says of an output, be it a transcript or speech. */
const LoggedOutput = z
  .object({
    channel: z.string(),
    durationSeconds: z.number().nullable(),
    characters: z.number(),
    upstreamAttempts: z.number(),
    parts: z.number().nullable(),
  })
  .partial()
  .catch({});

/** Opens the worker that transcribes, and speaks for callers who come back. */
export const openAudioWorker = (started: Started<AudioWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    acts: (access) => audioActs({ ...access, longAudio: longAudioOf(started) }),
    outputFields: (output) => {
      const { channel, durationSeconds, characters, upstreamAttempts, parts } = LoggedOutput.parse(output);
      return { channel, audioSeconds: durationSeconds, characters, upstreamAttempts, parts };
    },
  });

const longAudioOf = ({ config, env }: Started<AudioWorkerSettings>): LongAudio => ({
  ffmpeg: { program: config.FFMPEG_PATH, searchPath: env.PATH ?? '' },
  maxSeconds: config.AUDIO_SPLIT_MAX_SECONDS,
  partsAtOnce: config.AUDIO_PARTS_AT_ONCE,
});
