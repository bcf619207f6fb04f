import { GatewayError } from '@gateway/contracts/gateway-error';

/** @param path where in the request it is named */
export const conversationNotFound = (id: string, path: readonly string[] = ['id']): GatewayError =>
  new GatewayError('object_not_found', {
    path: [...path],
    message: `Conversation with id '${id}' not found.`,
  });

export const itemNotFound = (id: string, path = 'item_id'): GatewayError =>
  new GatewayError('object_not_found', { path: [path], message: `Item with id '${id}' not found.` });

export const conversationLocked = (): GatewayError =>
  new GatewayError('conversation_locked', {
    path: ['conversation'],
    message: 'Another process is currently operating on this conversation. Please retry in a few seconds.',
  });

export const conversationsFull = (): GatewayError =>
  new GatewayError('storage_full', {
    message:
      'The storage limit of your key is reached. Delete responses or conversations that you no longer need.',
    retry: false,
  });

export const conversationsOff = (): GatewayError =>
  new GatewayError('unsupported_parameter', 'Conversations are not stored for your key.');

export function notWritten(cause: unknown): never {
  throw new GatewayError('service_unavailable', {
    message: 'Conversations cannot be stored at the moment. Please try again shortly.',
    retryAfterSeconds: 1,
    cause,
  });
}

/** @param sizes how long it would be, and how long it may be */
export const conversationTooLong = (sizes: string): GatewayError =>
  new GatewayError('context_length_exceeded', {
    path: ['items'],
    message: `The conversation would have ${sizes} are stored. Delete items, or start a new one.`,
  });
