import type { StreamWatch } from '../sse/stream-watch.ts';

/** A watch whose events somebody else sees too, each after the watch itself has taken it. */
export const observed = (watch: StreamWatch, onEvent: (data: string) => void): StreamWatch => ({
  event: (data) => {
    watch.event(data);
    onEvent(data);
  },
  get id() {
    return watch.id;
  },
  get usage() {
    return watch.usage;
  },
  get outputLength() {
    return watch.outputLength;
  },
  get ended() {
    return watch.ended;
  },
  get mayEnd() {
    return watch.mayEnd;
  },
  get reportedFailure() {
    return watch.reportedFailure;
  },
  breakOff: (error, requestId) => watch.breakOff(error, requestId),
  keepAlive: () => watch.keepAlive(),
});
