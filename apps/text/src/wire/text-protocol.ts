/** The wire formats of conversations that callers speak. Channels may speak others: `ConversationProtocol`. */
export type TextProtocol = 'responses' | 'messages' | 'chat' | 'gemini';
