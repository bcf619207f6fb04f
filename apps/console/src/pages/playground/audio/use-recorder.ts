import { useEffect, useRef, useState } from 'react';

interface Recorder {
  /** For how long it has recorded; undefined: it does not. */
  readonly seconds: number | undefined;
  /** Why nothing can be recorded, and what to do; undefined: it was not tried, or it works. */
  readonly problem: string | undefined;
  /** Asks for the microphone and records. */
  start(): Promise<void>;
  stop(): void;
}

const NO_MICROPHONE = 'Browsers allow the microphone only over https or on localhost. Choose a file instead.';
const PROBLEMS: Readonly<Record<string, string>> = {
  NotAllowedError: 'Microphone access is blocked. Allow it next to the address, or choose a file.',
  NotFoundError: 'No microphone found. Connect one, or choose a file.',
  NotReadableError: 'Another program is using the microphone. Close it, or choose a file.',
};

/** Why the microphone could not be opened, and what to do. */
export function microphoneProblem(error: unknown): string {
  if (navigator.mediaDevices === undefined) return NO_MICROPHONE;
  const name = error instanceof Error ? error.name : '';
  return PROBLEMS[name] ?? `The microphone could not be opened: ${String(error)}`;
}

/** Records from the microphone; the browser asks the person when it is started. */
export function useRecorder(onRecorded: (file: File) => void): Recorder {
  const [seconds, setSeconds] = useState<number>();
  const [problem, setProblem] = useState<string>();
  const recorder = useRef<MediaRecorder>(undefined);
  const stop = (): void => recorder.current?.stop();
  useEffect(() => () => recorder.current?.stop(), []);
  const isRecording = seconds !== undefined;
  useEffect(() => {
    if (!isRecording) return;
    const timer = setInterval(
      () => setSeconds((before) => (before !== undefined ? before + 1 : before)),
      1000,
    );
    return () => clearInterval(timer);
  }, [isRecording]);

  const start = async (): Promise<void> => {
    setProblem(undefined);
    if (navigator.mediaDevices === undefined || typeof MediaRecorder === 'undefined')
      return setProblem(NO_MICROPHONE);
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const made = new MediaRecorder(stream);
      const pieces: Blob[] = [];
      made.addEventListener('dataavailable', ({ data }) => pieces.push(data));
      made.addEventListener('stop', () => {
        for (const track of stream.getTracks()) track.stop();
        recorder.current = undefined;
        setSeconds(undefined);
        const [type = ''] = made.mimeType.split(';');
        onRecorded(new File(pieces, `recording.${type.split('/')[1] ?? 'webm'}`, { type }));
      });
      recorder.current = made;
      made.start();
      setSeconds(0);
    } catch (error) {
      setProblem(microphoneProblem(error));
    }
  };
  return { seconds, problem, start, stop };
}
