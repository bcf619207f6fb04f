import { listenForOps } from '@gateway/service-kit/ops';
import { startService } from '@gateway/service-kit/start-service';
import { ImageWorkerConfig } from './config.ts';
import { openImageWorker } from './open-worker.ts';

await startService({ service: 'image-worker', settings: ImageWorkerConfig, process }, async (started) => {
  await openImageWorker(started);
  await listenForOps(started, {
    port: started.config.IMAGE_WORKER_METRICS_PORT,
    portSetting: 'IMAGE_WORKER_METRICS_PORT',
  });
});
