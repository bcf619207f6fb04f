import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { Started } from '@gateway/service-kit/start-service';
import { z } from 'zod';
import { audioProcessors } from './audio-processors.ts';
import type { AudioWorkerSettings } from './config.ts';
import type { LongAudio } from './transcriptions/long-audio/transcribe-parts.ts';

/** The fields of an output in the log line, be it a transcript or speech. */
const LoggedOutput = z
  .object({
    channel: z.string(),
    durationSeconds: z.number().nullable(),
    characters: z.number(),
    parts: z.number().nullable(),
  })
  .partial()
  .catch({});

/** Opens the worker that transcribes, and speaks for callers who come back. */
export const openAudioWorker = (started: Started<AudioWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    processors: (access) => audioProcessors({ ...access, longAudio: longAudioOf(started) }),
    outputFields: (output) => {
      const { channel, durationSeconds, characters, parts } = LoggedOutput.parse(output);
      return { channel, audioSeconds: durationSeconds, characters, parts };
    },
  });

const longAudioOf = ({ config, env }: Started<AudioWorkerSettings>): LongAudio => ({
  ffmpeg: { program: config.FFMPEG_PATH, searchPath: env.PATH ?? '' },
  maxSeconds: config.AUDIO_SPLIT_MAX_SECONDS,
  partsAtOnce: config.AUDIO_PARTS_AT_ONCE,
});
