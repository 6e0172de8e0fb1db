import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The account of everything local. */
export const ACCOUNT = '111122223333';

/** A server on this machine alone, at a port that is free. */
export async function startLoopback(): Promise<Server> {
  const http = createServer();
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  return http;
}

export function urlOf(http: Server): string {
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

/** Ends it, and what is still connected. */
export async function stopLoopback(http: Server): Promise<void> {
  http.closeAllConnections();
  http.close();
  await once(http, 'close');
}
