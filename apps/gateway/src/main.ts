import { openAdmin } from '@gateway/admin/open-admin';
import { openAudioService } from '@gateway/audio/open-service';
import { openMountedEdge } from '@gateway/edge/open-mounted-edge';
import { openImageService } from '@gateway/image/open-service';
import { openRetrievalService } from '@gateway/retrieval/open-service';
import { type StartedProcess, startParts } from '@gateway/service-kit/start-service';
import { openTextService } from '@gateway/text/open-service';
import { GatewayConfig } from './config.ts';

await startParts({ service: 'gateway', settings: GatewayConfig, process }, async (started) => {
  const admin = started.part('admin');
  // The thread of the database starts while the services are opened.
  const [listenAdmin] = await Promise.all([
    openAdmin({ ...admin, config: { ...admin.config, HOST: admin.config.ADMIN_HOST } }),
    openCallersSide(started),
  ]);
  await listenAdmin();
});

async function openCallersSide({ part }: StartedProcess<GatewayConfig>): Promise<void> {
  const [text, image, audio, retrieval] = await Promise.all([
    openTextService(part('text')),
    openImageService(part('image')),
    openAudioService(part('audio')),
    openRetrievalService(part('retrieval')),
  ]);
  // The first to listen: the process reports its port.
  const services = {
    text: text.dispatch,
    image: image.dispatch,
    audio: audio.dispatch,
    retrieval: retrieval.dispatch,
  };
  const acceptSockets = { text: text.acceptSocket, audio: audio.acceptSocket };
  await openMountedEdge({ services, acceptSockets }, part('edge'));
}
