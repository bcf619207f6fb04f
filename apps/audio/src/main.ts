import { startService } from '@gateway/service-kit/start-service';
import { AudioConfig } from './config.ts';
import { openAudioService } from './open-service.ts';

await startService({ service: 'audio', settings: AudioConfig, process }, async (started) => {
  const { AUDIO_PORT: port, HOST: host } = started.config;
  const { app, handshakes } = await openAudioService(started);
  await started.life.listen(app, { port, host, portSetting: 'AUDIO_PORT', ...handshakes });
});
