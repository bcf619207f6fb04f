/** The wire formats of conversations. */
export type TextProtocol = 'responses' | 'messages' | 'chat';
