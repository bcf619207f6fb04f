import { listenForOps } from '@gateway/service-kit/ops';
import { startService } from '@gateway/service-kit/start-service';
import { TextWorkerConfig } from './config.ts';
import { openTextWorker } from './open-worker.ts';

await startService({ service: 'text-worker', settings: TextWorkerConfig, process }, async (started) => {
  await openTextWorker(started);
  await listenForOps(started, {
    port: started.config.TEXT_WORKER_METRICS_PORT,
    portSetting: 'TEXT_WORKER_METRICS_PORT',
  });
});
