import { TranscriptionOutput } from '@gateway/contracts/jobs';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { JobWorkerSettings } from '@gateway/model-service/settings';
import type { Started } from '@gateway/service-kit/start-service';
import { transcribe } from './transcriptions/transcribe.ts';

/** Opens the worker that transcribes. */
export const openAudioWorker = (started: Started<JobWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    acts: (access) => ({ 'audio.transcription': transcribe(access) }),
    outputFields: (output) => {
      const { channel, durationSeconds, upstreamAttempts } = TranscriptionOutput.partial()
        .catch({})
        .parse(output);
      return { channel, audioSeconds: durationSeconds, upstreamAttempts };
    },
  });
