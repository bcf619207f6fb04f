import { startService } from '@gateway/service-kit/start-service';
import { AdminConfig } from './config.ts';
import { openAdmin } from './open-admin.ts';

await startService({ service: 'admin', settings: AdminConfig, process, isTraced: false }, async (started) => {
  const listen = await openAdmin(started);
  await listen();
});
