import { startService } from '@gateway/service-kit/start-service';
import { TextConfig } from './config.ts';
import { openTextService } from './open-service.ts';

await startService({ service: 'text', settings: TextConfig, process }, async (started) => {
  const { TEXT_PORT: port, HOST: host } = started.config;
  const { app, handshakes } = await openTextService(started);
  await started.life.listen(app, { port, host, portSetting: 'TEXT_PORT', ...handshakes });
});
