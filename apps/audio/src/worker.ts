import { listenForOps } from '@gateway/service-kit/ops';
import { startService } from '@gateway/service-kit/start-service';
import { AudioWorkerConfig } from './config.ts';
import { openAudioWorker } from './open-worker.ts';

await startService({ service: 'audio-worker', settings: AudioWorkerConfig, process }, async (started) => {
  await openAudioWorker(started);
  await listenForOps(started, {
    port: started.config.AUDIO_WORKER_METRICS_PORT,
    portSetting: 'AUDIO_WORKER_METRICS_PORT',
  });
});
