import type { ServiceName } from '@gateway/contracts/endpoints';
import type { Dispatch } from '@gateway/service-kit/service-app';
import type { Started } from '@gateway/service-kit/start-service';
import type { EdgeSettings } from './config.ts';
import { limitsOf, listenEdge } from './listen-edge.ts';
import { createMountedForwarder } from './mounted-services.ts';

/** Opens an edge for services in its own process, and listens. Without HTTP between them no identity is signed. */
export const openMountedEdge = (
  services: Readonly<Record<ServiceName, Dispatch>>,
  started: Started<EdgeSettings>,
): Promise<void> => listenEdge(started, createMountedForwarder(services, limitsOf(started)), null);
