import { type Endpoint, isForWork, WEBSOCKET } from '@gateway/contracts/endpoints/endpoints';
import type { Identity, KeyPriority } from '@gateway/contracts/identity';

/**
 * A request's priority: its key's for new work, to which a WebSocket leads. Reading results and cancelling are refused
 * last: they end work.
 */
export const priorityOf = (endpoint: Endpoint, identity: Pick<Identity, 'priority'> | null): KeyPriority =>
  isForWork(endpoint) || endpoint === WEBSOCKET ? (identity?.priority ?? 'normal') : 'high';
