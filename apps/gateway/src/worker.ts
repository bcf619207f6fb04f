import { openAudioWorker } from '@gateway/audio/open-worker';
import { openImageWorker } from '@gateway/image/open-worker';
import { listenForOps } from '@gateway/service-kit/ops';
import { startParts } from '@gateway/service-kit/start-service';
import { openTextWorker } from '@gateway/text/open-worker';
import { WorkersConfig } from './config.ts';

await startParts(
  { service: 'workers', settings: WorkersConfig, process },
  async ({ config, life, page, part }) => {
    await Promise.all([
      openTextWorker(part('text-worker')),
      openImageWorker(part('image-worker')),
      openAudioWorker(part('audio-worker')),
    ]);
    const { WORKER_METRICS_PORT: port } = config;
    await listenForOps({ config, life, page }, { port, portSetting: 'WORKER_METRICS_PORT' });
  },
);
