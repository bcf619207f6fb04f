import type { ServiceName } from '@gateway/contracts/endpoints/endpoints';
import type { AcceptSocket } from '@gateway/service-kit/request/handshake';
import type { Dispatch } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import type { EdgeSettings } from './config.ts';
import { createMountedForwarder } from './forwarding/mounted-services.ts';
import { limitsOf, listenEdge } from './listen-edge.ts';
import type { Opening } from './sockets/socket-door.ts';

interface MountedServices {
  readonly services: Readonly<Record<ServiceName, Dispatch>>;
  readonly acceptSockets: Readonly<Record<Opening['endpoint']['service'], AcceptSocket>>;
}

/** Opens an edge for services in its own process, and listens. Without HTTP between them no identity is signed. */
export const openMountedEdge = (
  { services, acceptSockets }: MountedServices,
  started: Started<EdgeSettings>,
): Promise<void> =>
  listenEdge(started, {
    forwarder: createMountedForwarder(services, limitsOf(started)),
    openSocket: ({ request, socket, head, identity, endpoint, context, begin }: Opening) => {
      begin();
      acceptSockets[endpoint.service](
        { request, socket, head },
        { identity, requestId: context.requestId, from: 'caller' },
      );
    },
    seal: null,
  });
