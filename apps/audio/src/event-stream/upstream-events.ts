/** A frame of base64 audio is large, but not this large. */
export const MAX_FRAME_BYTES = 8 * 1024 * 1024;

const ERROR_EVENT = /^(?:event: ?error\b|data: ?\{"(?:type": ?"error"|error":))/m;

/** Whether an upstream's frame is its own report that it broke. */
export const isErrorEvent = (frame: string): boolean => frame.includes('error') && ERROR_EVENT.test(frame);
