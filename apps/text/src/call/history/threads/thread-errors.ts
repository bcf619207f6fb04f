import { GatewayError } from '@gateway/contracts/gateway-error';

const PREVIOUS = ['thread', 'previous_message_id'];
/** What clients of message threads do after these errors. */
const SEND_ALL = 'Send the whole conversation with `thread: {"type": "create"}`.';

export const threadNotFound = (id: string): GatewayError =>
  new GatewayError('thread_not_found', {
    path: PREVIOUS,
    message: `Message with id '${id}' not found. It may have expired. ${SEND_ALL}`,
  });

export const threadContinued = (id: string): GatewayError =>
  new GatewayError('thread_already_continued', {
    path: PREVIOUS,
    message: `Message '${id}' has been continued before, and a message can be continued once. ${SEND_ALL}`,
  });

export const threadInFlight = (id: string): GatewayError =>
  new GatewayError('thread_continue_in_flight', {
    path: PREVIOUS,
    message: `Message '${id}' is being continued by another request. Wait until it ends, or: ${SEND_ALL}`,
  });

export const threadMismatch = (members: readonly string[]): GatewayError =>
  new GatewayError('thread_fingerprint_mismatch', {
    path: ['thread'],
    message: `The request does not match its thread; differing field(s): ${members.join(', ')}. Keep them as they were, or start another thread.`,
  });

/** Without a stored conversation, a turn would get a wrong answer. */
export const threadUnsupported = (): GatewayError =>
  new GatewayError('thread_unsupported_request', {
    path: ['thread'],
    message:
      'Message threads are not available for this model. Send the whole conversation without `thread`.',
  });
