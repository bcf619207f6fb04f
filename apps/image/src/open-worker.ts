import { ImageOutput } from '@gateway/contracts/jobs';
import { openTextChecks } from '@gateway/hooks/text-checks';
import { openContentLog } from '@gateway/model-service/content-log/open-content-log';
import { openJobWorker } from '@gateway/model-service/jobs/open-job-worker';
import type { JobWorkerSettings } from '@gateway/model-service/settings';
import type { Started } from '@gateway/service-kit/start-service';
import { imageProcessors } from './making/make-images.ts';

/** Opens the worker that makes and edits images. */
export const openImageWorker = (started: Started<JobWorkerSettings>): Promise<void> =>
  openJobWorker(started, {
    processors: (access) =>
      imageProcessors({
        ...access,
        checks: openTextChecks(started, access, 'images'),
        contentLog: openContentLog(started, access),
        now: Date.now,
      }),
    outputFields: (output) => {
      const { channel, images } = ImageOutput.partial().catch({}).parse(output);
      return { channel, images: images?.length };
    },
  });
