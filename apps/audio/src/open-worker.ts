import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { JobWorkerSettings } from '@gateway/model-service/settings';
import type { Started } from '@gateway/service-kit/start-service';
import { z } from 'zod';
import { audioActs } from './audio-acts.ts';

/** What the log line says of an output, be it a transcript or speech. */
const LoggedOutput = z
  .object({
    channel: z.string(),
    durationSeconds: z.number().nullable(),
    characters: z.number(),
    upstreamAttempts: z.number(),
  })
  .partial()
  .catch({});

/** Opens the worker that transcribes, and speaks for callers who come back. */
export const openAudioWorker = (started: Started<JobWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    acts: audioActs,
    outputFields: (output) => {
      const { channel, durationSeconds, characters, upstreamAttempts } = LoggedOutput.parse(output);
      return { channel, audioSeconds: durationSeconds, characters, upstreamAttempts };
    },
  });
