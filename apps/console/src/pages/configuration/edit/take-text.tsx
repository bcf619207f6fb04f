import { Button, CopyButton } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';

interface TakeTextProps {
  readonly of: string;
  /** What it is: `the diff`. */
  readonly what: string;
  readonly fileName: string;
}

/** Takes a text to where it belongs: as a file, or by the clipboard. */
export const TakeText = ({ of: text, what, fileName }: TakeTextProps) => (
  <>
    <Button
      size="xs"
      variant="default"
      component="a"
      href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
      download={fileName}
      leftSection={<IconDownload size={14} aria-hidden />}
    >
      Download
    </Button>
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          size="xs"
          onClick={copy}
          leftSection={copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
        >
          {copied ? 'Copied' : `Copy ${what}`}
        </Button>
      )}
    </CopyButton>
  </>
);
