import { startService } from '@gateway/service-kit/start-service';
import { RetrievalConfig } from './config.ts';
import { openRetrievalService } from './open-service.ts';

await startService({ service: 'retrieval', settings: RetrievalConfig, process }, async (started) => {
  const { RETRIEVAL_PORT: port, HOST: host } = started.config;
  const { app } = await openRetrievalService(started);
  await started.life.listen(app, { port, host, portSetting: 'RETRIEVAL_PORT' });
});
