// @ts-expect-error TS1479: jest translates this ES module
export { calculateJwkThumbprint, exportJWK, exportPKCS8, generateKeyPair, importJWK, jwtVerify, SignJWT, UnsecuredJWT, type CryptoKey, type JWK } from 'jose';
