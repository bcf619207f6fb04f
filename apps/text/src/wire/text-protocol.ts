/** The wire formats that carry conversations. */
export type TextProtocol = 'responses' | 'messages' | 'chat';
