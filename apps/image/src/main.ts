import { startService } from '@gateway/service-kit/start-service';
import { ImageConfig } from './config.ts';
import { openImageService } from './open-service.ts';

await startService({ service: 'image', settings: ImageConfig, process }, async (started) => {
  const { IMAGE_PORT: port, HOST: host } = started.config;
  const { app } = await openImageService(started);
  await started.life.listen(app, { port, host, portSetting: 'IMAGE_PORT' });
});
