import { connect } from 'node:net';

/** Sends bytes as they are and returns all that comes back until the connection ends. */
export function rawExchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      received += chunk;
    });
    socket.once('end', () => resolve(received));
    socket.once('error', (error) => (received === '' ? reject(error) : resolve(received)));
  });
}
