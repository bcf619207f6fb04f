import { ImageOutput } from '@gateway/contracts/jobs';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { JobWorkerSettings } from '@gateway/model-service/settings';
import type { Started } from '@gateway/service-kit/start-service';
import { imageProcessors } from './making/make-images.ts';

/** Opens the worker that makes and edits images. */
export const openImageWorker = (started: Started<JobWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    processors: (access) => imageProcessors({ ...access, now: Date.now }),
    outputFields: (output) => {
      const { channel, images } = ImageOutput.partial().catch({}).parse(output);
      return { channel, images: images?.length };
    },
  });
